// An export names its columns once: the same list makes the statement and the names of the fields.
// A deletion is one transaction that locks the user's row first. It writes what must outlive the
// account (the notes for statistics sites, the credit, the revocation) while the rows that these
// are made from still exist. Then tasks lose the user's texts and addresses, before the computers
// and other rows go. The user's row is deleted before the teams are handed on, so that it cannot be
// an heir.
#include "project_server/accounts/account_removal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <string_view>

#include "project_server/accounts/teams.hpp"
#include "project_server/database/revocations.hpp"
#include "project_server/database/states.hpp"
#include "project_server/json/value.hpp"
#include "project_server/publishing/keys.hpp"

namespace dedloc::server {
namespace {

/// A select's rows as a list of objects. `columns` are separated by ", ".
json::Value::List rows_of(Database& database, std::string_view columns, const std::string& rest,
                          std::int64_t user) {
    json::Value::List rows;
    for (const Row& row : database.query(fmt::format("select {} from {}", columns, rest), {user})) {
        json::Value& fields = rows.emplace_back();
        for (std::string_view left = columns; !left.empty();) {
            const auto end = left.find(", ");
            const std::string column{left.substr(0, end)};
            left.remove_prefix(end == std::string_view::npos ? left.size() : end + 2);
            fields.set(column, row.text(column));
        }
    }
    return rows;
}

/// Deletes what belongs to the user's computers, and the computers.
void delete_hosts(Database& database, std::int64_t user, double now) {
    database.execute(
        "insert ignore into host_deleted (hostid, public_cross_project_id, create_time) "
        "select id, host_cpid, ? from host where userid = ?",
        {now, user});
    for (const char* const table : {"msg_from_host", "msg_to_host"}) {
        database.execute(
            fmt::format("delete m from {} m join host h on h.id = m.hostid where h.userid = ?",
                        table),
            {user});
    }
    database.execute(
        "delete v from host_app_version v join host h on h.id = v.host_id where h.userid = ?",
        {user});
    database.execute("delete from host where userid = ?", {user});
}

/// Peers' addresses and the texts of tasks are the user's; samples and credit are the runs'.
void clean_tasks(Database& database, std::int64_t user) {
    database.execute(
        "update dedloc_seat s join dedloc_ticket t on t.runid = s.runid and t.peer_key = "
        "s.peer_key join result r on r.id = t.resultid set s.address = '' where r.userid = ?",
        {user});
    database.execute("update dedloc_ticket set network = '' where userid = ?", {user});
    database.execute("update dedloc_presence set device = '' where userid = ?", {user});
    database.execute(
        "update result set stderr_out = '', userid = if(server_state = ?, 0, userid), "
        "hostid = if(server_state = ?, 0, hostid) where userid = ?",
        {ServerState::kOver, ServerState::kOver, user});
}

}  // namespace

std::string export_account(Database& database, std::int64_t user) {
    json::Value data;
    const auto add = [&](const char* name, std::string_view columns, const std::string& rest) {
        data.set(name, rows_of(database, columns, rest, user));
    };
    add("account",
        "id, create_time, email_addr, previous_email_addr, name, country, postal_code, url, "
        "total_credit, expavg_credit, teamid, venue, show_hosts, send_email, signature, "
        "cross_project_id, global_prefs, project_prefs",
        "user where id = ?");
    add("computers",
        "id, create_time, rpc_time, domain_name, last_ip_addr, external_ip_addr, timezone, "
        "total_credit, expavg_credit, p_vendor, p_model, p_ncpus, serialnum, os_name, "
        "os_version, m_nbytes, d_total, d_free, host_cpid, product_name",
        "host where userid = ?");
    add("tasks",
        "id, name, hostid, sent_time, received_time, server_state, outcome, exit_status, "
        "elapsed_time, granted_credit, stderr_out",
        "result where userid = ? order by id desc limit 10000");
    add("tickets", "runid, resultid, hostid, issued, network",
        "dedloc_ticket where userid = ? order by issued desc limit 10000");
    add("presences",
        "runid, hostid, began, ended, contributions, samples, reduced_bytes, version, plan_class, "
        "device",
        "dedloc_presence where userid = ? order by began desc limit 10000");
    add("badges", "badge_id, create_time", "badge_user where user_id = ?");
    add("consents", "consent_type_id, consent_time, consent_flag, source",
        "consent where userid = ?");
    add("founded_teams", "id, name, create_time, url, description", "team where userid = ?");
    return json::write_pretty(data);
}

void delete_account(Database& database, std::int64_t user, double now) {
    in_transaction(database, [&] {
        const auto row = database.query_one(
            "select email_addr, cross_project_id, teamid from user where id = ? for update",
            {user});
        if (!row) return;
        database.execute(
            "insert ignore into user_deleted (userid, public_cross_project_id, create_time) "
            "values (?, ?, ?)",
            {user, md5_of_text(row->text("cross_project_id") + row->text("email_addr")), now});
        database.execute(
            "insert ignore into dedloc_deleted_credit (userid, credit, deleted) "
            "select id, total_credit, ? from user where id = ?",
            {now, user});
        revoke_deleted_account(
            database, user,
            formats::UtcSeconds{std::chrono::seconds{static_cast<std::int64_t>(now)}});
        clean_tasks(database, user);
        delete_hosts(database, user, now);
        database.execute("delete from token where userid = ?", {user});
        database.execute(
            "delete from dedloc_mail where userid = ? or cast(email as binary) = cast(? as binary)",
            {user, row->text("email_addr")});
        database.execute("delete from consent where userid = ?", {user});
        database.execute("delete from credit_user where userid = ?", {user});
        database.execute("delete from credited_job where userid = ?", {user});
        database.execute("delete from dedloc_administrator where userid = ?", {user});
        database.execute("delete from badge_user where user_id = ?", {user});
        database.execute("delete from user_submit where user_id = ?", {user});
        database.execute("delete from user_submit_app where user_id = ?", {user});
        database.execute("delete from user where id = ?", {user});
        hand_teams_on(database, user, row->integer("teamid"));
    });
}

}  // namespace dedloc::server
