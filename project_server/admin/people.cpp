// Each list is one statement with its joins and a limit, and a loop that turns rows into JSON. The
// facts about an account and about a computer share add_work(): an Owner names the column that the
// statements compare, and only these fixed names and search conditions are pasted into SQL. Work is
// summed over single contributions and daily sums together, because old contributions are compacted
// into the latter. Recent credit is brought to the present time when it is read.
#include "project_server/admin/people.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "project_server/admin/suspicion_list.hpp"
#include "project_server/database/job_states.hpp"
#include "project_server/database/recent_credit.hpp"
#include "project_server/database/revocations.hpp"
#include "project_server/database/states.hpp"
#include "project_server/database/text_columns.hpp"

namespace dedloc::admin {
namespace {

using server::Ban;
using server::Database;
using server::Row;

constexpr int kHosts = 100;
constexpr int kRecentJobs = 20;
constexpr int kSameAddresses = 20;
constexpr int kSuspicions = 50;

/// Whose work is summed: of an account or of a computer.
struct Owner {
    const char* column = "";  ///< "userid" or "hostid"
    std::int64_t id = 0;      ///< its value
};

json::Value ban_data(const Ban& ban) {
    json::Value data;
    data.set("kind", ban.kind)
        .set("subject", ban.subject)
        .set("since_at", ban.since)
        .set("reason", ban.reason);
    return data;
}

/// The bans of an account and, unless it is 0, of a computer.
json::Value::List bans_of(Database& database, std::int64_t user, std::int64_t host) {
    json::Value::List list;
    for (const auto& [of_user, of_host] : {std::pair{user, std::int64_t{0}}, {0, host}}) {
        if (const auto ban = server::ban_of(database, of_user, of_host)) {
            list.push_back(ban_data(*ban));
        }
    }
    return list;
}

json::Value job_counts(Database& database, const Owner& owner) {
    using enum server::JobState;
    const server::JobCounts jobs =
        server::count_jobs(database, std::string{owner.column} + " = ?", {owner.id});
    json::Value data;
    for (const auto state :
         {kInProgress, kSucceeded, kWaiting, kFailed, kRefused, kTimedOut, kGivenUp}) {
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
                 owner.column),
             {server::CreditState::kPending, server::CreditState::kWithheld, owner.id, owner.id})) {
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
                         owner.column),
             {owner.id})) {
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

json::Value::List recent_jobs(Database& database, std::int64_t host) {
    json::Value::List list;
    for (const Row& row : database.query(
             "select id, name, server_state, outcome, validate_state, exit_status, sent_time, "
             "received_time, elapsed_time, granted_credit from result where hostid = ? "
             "order by id desc limit ?",
             {host, kRecentJobs})) {
        json::Value job;
        job.set("id", row.integer("id"))
            .set("name", row.text("name"))
            .set("state", server::task_state(row))
            .set("exit_status", row.integer("exit_status"))
            .set("sent_at", row.integer("sent_time"))
            .set("reported_at", row.integer("received_time"))
            .set("hours", row.real("elapsed_time") / 3600)
            .set("credit", row.real("granted_credit"));
        list.push_back(std::move(job));
    }
    return list;
}

/// What is said of the work of an account and of a computer alike.
void add_work(json::Value& data, Database& database, const Owner& owner) {
    data.set("jobs", job_counts(database, owner))
        .set("runs", work_by_run(database, owner))
        .set("withheld", withheld_of(database, owner));
}

}  // namespace

json::Value user_list(Database& database, const ListChoice& choice) {
    json::Value::List list;
    for (const Row& row : database.query(
             "select u.id, u.name, u.email_addr, u.create_time, u.total_credit, u.expavg_credit, "
             "u.expavg_time, "
             "coalesce(t.name, '') as team, b.kind is not null as is_banned, "
             "(select count(*) from host h where h.userid = u.id) as hosts "
             "from user u left join team t on t.id = u.teamid left join dedloc_revocation b on "
             "b.kind = 'user' and b.subject = cast(u.id as char) "
             "where (? = 0 or b.kind is not null) and (? = '' or " +
                 server::like_text("u.name") + " or " + server::like_text("u.email_addr") +
                 ") order by u.expavg_credit desc, u.id limit ?",
             {choice.is_banned ? 1 : 0, choice.found, server::like_pattern(choice.found),
              server::like_pattern(choice.found), choice.limit})) {
        json::Value user;
        user.set("id", row.integer("id"))
            .set("name", row.text("name"))
            .set("email", row.text("email_addr"))
            .set("team", row.text("team"))
            .set("credit", row.real("total_credit"))
            .set("recent_credit", server::recent_credit(row, server::unix_now()))
            .set("hosts", row.integer("hosts"))
            .set("created_at", row.integer("create_time"))
            .set("is_banned", row.integer("is_banned") != 0);
        list.push_back(std::move(user));
    }
    json::Value data;
    data.set("users", std::move(list));
    return data;
}

json::Value host_list(Database& database, const ListChoice& choice) {
    json::Value::List list;
    for (const Row& row : database.query(
             "select h.id, h.domain_name, h.userid, coalesce(u.name, '') as owner, h.p_model, "
             "h.p_ncpus, h.os_name, h.total_credit, h.expavg_credit, h.expavg_time, h.rpc_time, "
             "(b.kind is not null or exists (select 1 from dedloc_revocation a where "
             "a.kind = 'user' and a.subject = cast(h.userid as char))) as is_banned "
             "from host h left join user u on u.id = h.userid left join dedloc_revocation b on "
             "b.kind = 'host' and b.subject = cast(h.id as char) "
             "where (? = 0 or b.kind is not null) and (? = 0 or h.userid = ?) and "
             "(? = '' or " +
                 server::like_text("h.domain_name") + ") order by h.rpc_time desc, h.id limit ?",
             {choice.is_banned ? 1 : 0, choice.user, choice.user, choice.found,
              server::like_pattern(choice.found), choice.limit})) {
        json::Value host;
        host.set("id", row.integer("id"))
            .set("name", row.text("domain_name"))
            .set("user_id", row.integer("userid"))
            .set("user", row.text("owner"))
            .set("processor", row.text("p_model"))
            .set("cores", row.integer("p_ncpus"))
            .set("system", row.text("os_name"))
            .set("credit", row.real("total_credit"))
            .set("recent_credit", server::recent_credit(row, server::unix_now()))
            .set("contact_at", row.integer("rpc_time"))
            .set("is_banned", row.integer("is_banned") != 0);
        list.push_back(std::move(host));
    }
    json::Value data;
    data.set("hosts", std::move(list));
    return data;
}

json::Value user_facts(Database& database, std::int64_t user) {
    const auto row = database.query_one(
        "select u.*, coalesce(t.name, '') as team from user u left join team t on t.id = u.teamid "
        "where u.id = ?",
        {user});
    json::Value::List bans = bans_of(database, user, 0);
    json::Value data;
    data.set("id", user)
        .set("name", row->text("name"))
        .set("email", row->text("email_addr"))
        .set("is_email_confirmed", row->integer("email_validated") != 0)
        .set("country", row->text("country"))
        .set("team_id", row->integer("teamid"))
        .set("team", row->text("team"))
        .set("created_at", row->integer("create_time"))
        .set("credit", row->real("total_credit"))
        .set("recent_credit", server::recent_credit(*row, server::unix_now()))
        .set("is_banned", !bans.empty())
        .set("bans", std::move(bans))
        .set("hosts", host_list(database, {.user = user, .limit = kHosts}).field("hosts"));
    add_work(data, database, {.column = "userid", .id = user});
    data.set("suspicions", suspicions(database, {.user = user, .limit = kSuspicions}))
        .set("same_addresses", same_addresses(database, user));
    return data;
}

json::Value host_facts(Database& database, std::int64_t host) {
    const auto row = database.query_one(
        "select h.*, coalesce(u.name, '') as owner from host h left join user u on "
        "u.id = h.userid where h.id = ?",
        {host});
    json::Value::List bans = bans_of(database, row->integer("userid"), host);
    json::Value data;
    data.set("id", host)
        .set("name", row->text("domain_name"))
        .set("user_id", row->integer("userid"))
        .set("user", row->text("owner"))
        .set("address", row->text("external_ip_addr"))
        .set("processor", row->text("p_model"))
        .set("vendor", row->text("p_vendor"))
        .set("cores", row->integer("p_ncpus"))
        .set("devices", row->text("serialnum"))
        .set("memory_bytes", row->real("m_nbytes"))
        .set("flops", row->real("p_fpops"))
        .set("system", row->text("os_name"))
        .set("system_version", row->text("os_version"))
        .set("created_at", row->integer("create_time"))
        .set("contact_at", row->integer("rpc_time"))
        .set("credit", row->real("total_credit"))
        .set("recent_credit", server::recent_credit(*row, server::unix_now()))
        .set("venue", row->text("venue"))
        .set("turnaround_seconds", row->real("avg_turnaround"))
        .set("is_banned", !bans.empty())
        .set("bans", std::move(bans))
        .set("versions", versions_of(database, host));
    add_work(data, database, {.column = "hostid", .id = host});
    data.set("suspicions", suspicions(database, {.host = host, .limit = kSuspicions}))
        .set("recent_jobs", recent_jobs(database, host));
    return data;
}

json::Value team_list(Database& database, const ListChoice& choice) {
    json::Value::List list;
    for (const Row& row : database.query(
             "select t.id, t.name, t.userid, coalesce(u.name, '') as founder, t.total_credit, "
             "t.expavg_credit, t.expavg_time, t.url, t.create_time, (select count(*) from user m "
             "where "
             "m.teamid = t.id) as members from team t left join user u on u.id = t.userid "
             "where ? = '' or " +
                 server::like_text("t.name") + " order by t.expavg_credit desc, t.id limit ?",
             {choice.found, server::like_pattern(choice.found), choice.limit})) {
        json::Value team;
        team.set("id", row.integer("id"))
            .set("name", row.text("name"))
            .set("founder_id", row.integer("userid"))
            .set("founder", row.text("founder"))
            .set("members", row.integer("members"))
            .set("credit", row.real("total_credit"))
            .set("recent_credit", server::recent_credit(row, server::unix_now()))
            .set("url", row.text("url"))
            .set("created_at", row.integer("create_time"));
        list.push_back(std::move(team));
    }
    json::Value data;
    data.set("teams", std::move(list));
    return data;
}

json::Value key_list(Database& database, int limit) {
    json::Value::List list;
    for (const char* const kind : {"key", "voter"}) {
        for (const Ban& ban : server::bans(database, kind, limit)) list.push_back(ban_data(ban));
    }
    json::Value data;
    data.set("bans", std::move(list));
    return data;
}

}  // namespace dedloc::admin
