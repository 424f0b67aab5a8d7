// Damage of tables, and rows that refer to rows that do not exist.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "project_server/check/checks.hpp"
#include "project_server/database/boinc_apps.hpp"
#include "project_server/database/schema.hpp"

namespace dedloc::check {
namespace {

/// Rows that should not be: `from` is what follows "select count(*) as n from".
struct Orphans {
    const char* what;       ///< a sentence begins with their number and this
    std::string from;       ///< tables and condition
    bool is_boinc = false;  ///< the tables are BOINC's
};

// Not here: what outlives the rows that it refers to. Contributions, tickets and suspicions keep
// the numbers of results, hosts and accounts that have been deleted.
const std::vector<Orphans>& all_orphans() {
    static const std::vector<Orphans> all{
        {"results have no workunit",
         "result r left join workunit w on w.id = r.workunitid where w.id is null", true},
        {"workunits have no app", "workunit w left join app a on a.id = w.appid where a.id is null",
         true},
        {"jobs belong to a run that does not exist",
         fmt::format(
             "workunit w join app a on a.id = w.appid and a.name in {} left join dedloc_run d "
             "on d.id = w.opaque where d.id is null",
             server::kAppsInSql),
         false},
        {"app versions have no app",
         "app_version v left join app a on a.id = v.appid where a.id is null", true},
        {"app versions have no platform",
         "app_version v left join platform p on p.id = v.platformid where p.id is null", true},
        {"computers have no account",
         "host h left join user u on u.id = h.userid where h.userid <> 0 and u.id is null", true},
        {"accounts are members of a team that does not exist",
         "user u left join team t on t.id = u.teamid where u.teamid <> 0 and t.id is null", true},
        {"sessions and links belong to no account",
         "token k left join user u on u.id = k.userid where k.userid <> 0 and u.id is null", true},
        {"figures of computers belong to no computer",
         "host_app_version v left join host h on h.id = v.host_id where h.id is null", true},
        {"seats have no run",
         "dedloc_seat s left join dedloc_run d on d.id = s.runid where d.id is null", false},
        {"tickets have no run",
         "dedloc_ticket t left join dedloc_run d on d.id = t.runid where d.id is null", false},
        {"contributions have no run",
         "dedloc_contribution c left join dedloc_run d on d.id = c.runid where d.id is null",
         false},
        {"daily sums of credit have no run",
         "dedloc_daily_credit c left join dedloc_run d on d.id = c.runid where d.id is null",
         false},
        {"administrators have no account",
         "dedloc_administrator a left join user u on u.id = a.userid where u.id is null", false},
        {"presences have no run",
         "dedloc_presence p left join dedloc_run d on d.id = p.runid where d.id is null", false},
        {"steps have no run",
         "dedloc_step s left join dedloc_run d on d.id = s.runid where d.id is null", false},
        {"checkpoints have no run",
         "dedloc_checkpoint c left join dedloc_run d on d.id = c.runid where d.id is null", false},
        {"uploads have no run",
         "dedloc_upload u left join dedloc_run d on d.id = u.runid where d.id is null", false},
        {"evaluations have no run",
         "dedloc_evaluation e left join dedloc_run d on d.id = e.runid where d.id is null", false},
        {"figures have no evaluation",
         "dedloc_figure f left join dedloc_evaluation e on e.runid = f.runid and e.step = f.step "
         "where e.runid is null",
         false},
        {"answers have no evaluation",
         "dedloc_answer a left join dedloc_evaluation e on e.runid = a.runid and e.step = a.step "
         "where e.runid is null",
         false},
        {"withheld sums have no run",
         "dedloc_withheld w left join dedloc_run d on d.id = w.runid where d.id is null", false},
    };
    return all;
}

}  // namespace

void check_tables(const Subject& subject, server::Database& database, Findings& findings) {
    std::size_t count = 0;
    const auto tables = subject.is_official() ? server::own_tables() : server::all_tables();
    for (const std::string& table : tables) {
        // An absent one is a finding of check_schema.
        if (database.query("show tables like ?", {table}).empty()) continue;
        const auto rows = database.query(
            fmt::format("check table `{}`{}", table, subject.is_quick ? " quick" : ""));
        const bool is_sound = !rows.empty() && rows.back().text("Msg_type") == "status" &&
                              rows.back().text("Msg_text") == "OK";
        if (is_sound) {
            ++count;
            continue;
        }
        findings.bad(fmt::format("MariaDB finds damage in the table {}: {}", table,
                                 rows.empty() ? "no answer" : rows.back().text("Msg_text")),
                     "stop the project, and restore the database from a backup");
    }
    if (findings.is_clean()) findings.good(fmt::format("{} tables are undamaged", count));
}

void check_rows(const Subject& subject, server::Database& database, Findings& findings) {
    for (const Orphans& orphans : all_orphans()) {
        if (subject.is_official() && orphans.is_boinc) continue;
        const auto row =
            database.query_one(fmt::format("select count(*) as n from {}", orphans.from));
        const auto count = row->integer("n");
        if (count == 0) continue;
        findings.bad(
            fmt::format("{} {}", count, orphans.what),
            fmt::format("rows were lost or added by hand: select * from {}", orphans.from));
    }
    if (findings.is_clean()) findings.good("all rows refer to rows that exist");
}

}  // namespace dedloc::check
