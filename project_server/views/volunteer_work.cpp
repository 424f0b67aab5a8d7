// Each list is one statement with its joins and a limit, and a loop that turns rows into JSON. An
// Owner names the column that the statements compare, and only these fixed names are pasted into
// SQL. Work is summed over single contributions and daily sums together, because old contributions
// are compacted into the latter.
#include "project_server/views/volunteer_work.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "project_server/database/job_states.hpp"
#include "project_server/database/revocations.hpp"
#include "project_server/database/states.hpp"
#include "project_server/views/suspicion_list.hpp"

namespace dedloc::server {
namespace {

constexpr int kSameAddresses = 20;
constexpr int kSuspicions = 50;

json::Value ban_data(const Ban& ban) {
    json::Value data;
    data.set("kind", ban.kind)
        .set("subject", ban.subject)
        .set("since_at", ban.since)
        .set("reason", ban.reason);
    return data;
}

json::Value jobs_of(Database& database, const Owner& owner) {
    using enum JobState;
    const JobCounts jobs = count_jobs(database, std::string{owner.column()} + " = ?", {owner.id()});
    json::Value data;
    for (const auto state :
         {kInProgress, kSucceeded, kWaiting, kFailed, kAborted, kRefused, kTimedOut, kGivenUp}) {
        data.set(name_of(state), jobs.of(state));
    }
    return data;
}

json::Value::List work_by_run(Database& database, const Owner& owner) {
    json::Value::List list;
    for (const Row& row : database.query(
             fmt::format(
                 "select d.name, sum(w.contributions) as contributions, sum(w.samples) as samples, "
                 "sum(w.reduced_bytes) as reduced_bytes, "
                 "sum(w.credit) as credit, sum(w.pending) as pending, sum(w.withheld) as withheld "
                 "from (select c.runid, 1 as contributions, c.samples, c.reduced_bytes, c.credit, "
                 "if(c.credit_state = ?, c.samples, 0) as pending, "
                 "if(c.credit_state = ?, c.samples, 0) as withheld "
                 "from dedloc_ticket t join dedloc_contribution c on c.runid = t.runid and "
                 "c.peer_key = t.peer_key where t.{0} = ? union all select runid, contributions, "
                 "samples, reduced_bytes, credit, 0, 0 from dedloc_daily_credit where {0} = ?) w "
                 "join dedloc_run d on d.id = w.runid group by d.id order by d.id",
                 owner.column()),
             {CreditState::kPending, CreditState::kWithheld, owner.id(), owner.id()})) {
        json::Value run;
        run.set("run", row.text("name"))
            .set("contributions", row.integer("contributions"))
            .set("samples", row.integer("samples"))
            .set("reduced_bytes", row.integer("reduced_bytes"))
            .set("credit", row.real("credit"))
            .set("pending_samples", row.integer("pending"))
            .set("withheld_samples", row.integer("withheld"));
        list.push_back(std::move(run));
    }
    return list;
}

json::Value::List withheld_of(Database& database, const Owner& owner) {
    json::Value::List list;
    for (const Row& row : database.query(
             fmt::format("select d.name, w.peer_key, w.kind, w.subject, w.since, w.contributions, "
                         "w.samples, w.reduced_bytes from dedloc_withheld w join dedloc_ticket t "
                         "on t.runid = "
                         "w.runid and t.peer_key = w.peer_key join dedloc_run d on d.id = w.runid "
                         "where t.{} = ? order by w.noted desc limit 100",
                         owner.column()),
             {owner.id()})) {
        json::Value withheld;
        withheld.set("run", row.text("name"))
            .set("key", row.text("peer_key"))
            .set("kind", row.text("kind"))
            .set("subject", row.text("subject"))
            .set("since_at", row.integer("since"))
            .set("contributions", row.integer("contributions"))
            .set("samples", row.integer("samples"))
            .set("reduced_bytes", row.integer("reduced_bytes"));
        list.push_back(std::move(withheld));
    }
    return list;
}

}  // namespace

json::Value::List bans_of(Database& database, std::int64_t user, std::int64_t host) {
    json::Value::List list;
    for (const auto& [of_user, of_host] : {std::pair{user, std::int64_t{0}}, {0, host}}) {
        if (const auto ban = ban_of(database, of_user, of_host)) {
            list.push_back(ban_data(*ban));
        }
    }
    return list;
}

void add_work(json::Value& data, Database& database, const Owner& owner) {
    data.set("jobs", jobs_of(database, owner))
        .set("runs", work_by_run(database, owner))
        .set("withheld", withheld_of(database, owner))
        .set("suspicions",
             suspicions(database, {.user = owner.user, .host = owner.host, .limit = kSuspicions}));
}

json::Value::List same_addresses(Database& database, std::int64_t user) {
    json::Value::List list;
    for (const Row& row : database.query(
             "select u.id, u.name, min(o.external_ip_addr) as address, exists (select 1 from "
             "dedloc_revocation b where b.kind = 'user' and b.subject = cast(u.id as char)) as "
             "is_banned "
             "from host h join host o on o.external_ip_addr = h.external_ip_addr and "
             "o.userid <> h.userid join user u on u.id = o.userid "
             "where h.userid = ? and h.external_ip_addr <> '' group by u.id order by u.id limit ?",
             {user, kSameAddresses})) {
        json::Value other;
        other.set("user_id", row.integer("id"))
            .set("user", row.text("name"))
            .set("is_banned", row.integer("is_banned") != 0)
            .set("address", row.text("address"));
        list.push_back(std::move(other));
    }
    return list;
}

json::Value::List versions_of(Database& database, std::int64_t host) {
    json::Value::List list;
    for (const Row& row : database.query(
             "select a.name, v.version_num, v.plan_class, h.max_jobs_per_day, h.n_jobs_today, "
             "h.consecutive_valid from host_app_version h join app_version v on "
             "v.id = h.app_version_id join app a on a.id = v.appid where h.host_id = ? "
             "order by v.id desc limit 100",
             {host})) {
        json::Value version;
        version.set("app", row.text("name"))
            .set("version", row.integer("version_num"))
            .set("plan_class", row.text("plan_class"))
            .set("quota_per_seat", row.integer("max_jobs_per_day"))
            .set("jobs_today", row.integer("n_jobs_today"))
            .set("consecutive_valid", row.integer("consecutive_valid"));
        list.push_back(std::move(version));
    }
    return list;
}

json::Value key_list(Database& database, int limit) {
    json::Value::List list;
    for (const char* const kind : {"key", "voter"}) {
        for (const Ban& ban : bans(database, kind, limit)) list.push_back(ban_data(ban));
    }
    json::Value data;
    data.set("bans", std::move(list));
    return data;
}

}  // namespace dedloc::server
