#include "project_server/views/people.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "project_server/database/recent_credit.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/scheduler/preferences.hpp"
#include "project_server/views/safe_link.hpp"

namespace dedloc::server {
namespace {

constexpr int kMaxHosts = 100;
constexpr int kMaxMembers = 100;

/// The badges of a user or of a team.
json::Value::List badges(Database& database, const std::string& kind, std::int64_t id) {
    json::Value::List list;
    for (const Row& row : database.query(
             fmt::format("select b.name, b.title, b.level from badge_{0} g "
                         "join badge b on b.id = g.badge_id where g.{0}_id = ? order by b.id",
                         kind),
             {id})) {
        json::Value badge;
        badge.set("name", row.text("name"))
            .set("title", row.text("title"))
            .set("level", row.text("level"));
        list.push_back(std::move(badge));
    }
    return list;
}

/// What is said of a user or a team everywhere.
json::Value standing(const Row& row) {
    json::Value data;
    data.set("id", row.integer("id"))
        .set("name", row.text("name"))
        .set("country", row.text("country"))
        .set("credit", row.real("total_credit"))
        .set("recent_credit", recent_credit(row, unix_now()));
    return data;
}

json::Value brief_host(const Row& row) {
    json::Value data;
    data.set("id", row.integer("id"))
        .set("processor", row.text("p_model"))
        .set("cores", row.integer("p_ncpus"))
        .set("system", row.text("os_name"))
        .set("credit", row.real("total_credit"))
        .set("recent_credit", recent_credit(row, unix_now()))
        .set("last_contact", row.integer("rpc_time"));
    return data;
}

}  // namespace

json::Value::List host_list(Database& database, std::int64_t user) {
    json::Value::List hosts;
    for (const Row& row :
         database.query("select id, p_model, p_ncpus, os_name, total_credit, expavg_credit, "
                        "expavg_time, rpc_time "
                        "from host where userid = ? order by rpc_time desc, id limit ?",
                        {user, kMaxHosts})) {
        hosts.push_back(brief_host(row));
    }
    return hosts;
}

std::optional<json::Value> user_data(Database& database, std::int64_t user) {
    const auto row = database.query_one(
        "select u.id, u.name, u.email_addr, u.create_time, u.total_credit, u.expavg_credit, "
        "u.expavg_time, "
        "u.country, u.url, u.show_hosts, u.cross_project_id, t.id as team_id, t.name as team "
        "from user u left join team t on t.id = u.teamid where u.id = ?",
        {user});
    if (!row) return std::nullopt;
    const bool shows_hosts = row->integer("show_hosts") != 0;
    json::Value data = standing(*row);
    data.set("created", row->integer("create_time"))
        .set("url", safe_link(row->text("url")))
        .set("team_id", row->integer("team_id"))
        .set("team", row->text("team"))
        .set("cross_project_id",
             md5_of_text(row->text("cross_project_id") + row->text("email_addr")))
        .set("shows_hosts", shows_hosts)
        .set("hosts", shows_hosts ? host_list(database, user) : json::Value::List{})
        .set("badges", badges(database, "user", user));
    return data;
}

std::optional<json::Value> team_data(Database& database, std::int64_t team, std::int64_t viewer) {
    const auto row = database.query_one(
        "select t.id, t.name, t.create_time, t.total_credit, t.expavg_credit, t.expavg_time, "
        "t.country, t.url, "
        "t.description, t.joinable, u.id as founder_id, u.name as founder, "
        "(select count(*) from user m where m.teamid = t.id) as members "
        "from team t left join user u on u.id = t.userid where t.id = ?",
        {team});
    if (!row) return std::nullopt;
    json::Value::List members;
    for (const Row& member : database.query("select id, name, country, total_credit, "
                                            "expavg_credit, expavg_time from user where teamid = ? "
                                            "order by total_credit desc, id limit ?",
                                            {team, kMaxMembers})) {
        members.push_back(standing(member));
    }
    json::Value data = standing(*row);
    data.set("created", row->integer("create_time"))
        .set("url", safe_link(row->text("url")))
        .set("description", row->text("description"))
        .set("founder_id", row->integer("founder_id"))
        .set("founder", row->text("founder"))
        .set("is_joinable", row->integer("joinable") != 0)
        .set("member_count", row->integer("members"))
        .set("members", std::move(members))
        .set("badges", badges(database, "team", team));
    const auto own =
        database.query_one("select teamid from user where id = ? and id <> 0", {viewer});
    const bool is_member = own && own->integer("teamid") == team;
    const bool is_founder = own && row->integer("founder_id") == viewer;
    data.set("is_member", is_member)
        .set("can_join", own && !is_member && (is_founder || row->integer("joinable") != 0))
        .set("can_edit", is_founder);
    return data;
}

json::Value::List venue_choices(const std::string& chosen) {
    json::Value::List list;
    const auto add = [&](const char* venue) {
        json::Value choice;
        choice.set("value", venue).set("is_chosen", chosen == venue);
        list.push_back(std::move(choice));
    };
    add("");
    for (const char* const venue : kVenues) add(venue);
    return list;
}

std::optional<json::Value> host_data(Database& database, std::int64_t host, std::int64_t viewer) {
    const auto row = database.query_one(
        "select h.*, u.name as owner from host h join user u on u.id = h.userid "
        "where h.id = ? and (u.show_hosts = 1 or u.id = ?)",
        {host, viewer});
    if (!row) return std::nullopt;
    const bool is_own = row->integer("userid") == viewer && viewer != 0;
    json::Value data = brief_host(*row);
    data.set("user_id", row->integer("userid"))
        .set("owner", row->text("owner"))
        .set("is_own", is_own)
        .set("venues", is_own ? venue_choices(row->text("venue")) : json::Value::List{})
        .set("created", row->integer("create_time"))
        .set("vendor", row->text("p_vendor"))
        .set("system_version", row->text("os_version"))
        .set("devices", row->text("serialnum"))
        .set("memory_bytes", row->real("m_nbytes"))
        .set("flops", row->real("p_fpops"))
        .set("days_to_report", row->real("avg_turnaround") / 86'400)
        .set("on_share", std::clamp(row->real("on_frac"), 0.0, 1.0));
    return data;
}

}  // namespace dedloc::server
