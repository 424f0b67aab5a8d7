// Privacy is decided by the reader, not by the templates: what no visitor may see is read for an
// administrator only, and an e-mail address leaves it otherwise only inside an MD5. All conditions
// are in one statement; those that the choice does not make are constant, and MariaDB drops them
// before it plans. Recent credit is brought to the present time when it is read.
#include "project_server/views/users.hpp"

#include <fmt/format.h>

#include <utility>

#include "project_server/database/recent_credit.hpp"
#include "project_server/database/states.hpp"
#include "project_server/database/text_columns.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/views/hosts.hpp"
#include "project_server/views/safe_link.hpp"
#include "project_server/views/volunteer_work.hpp"

namespace dedloc::server {

std::vector<UserView> read_users(Database& database, const ListChoice& choice) {
    constexpr const char* kBanned =
        "exists (select 1 from dedloc_revocation b where b.kind = 'user' and b.subject = "
        "cast(u.id as char))";
    const std::string pattern = like_pattern(choice.found);
    const double now = unix_now();
    std::vector<UserView> users;
    for (const Row& row : database.query(
             fmt::format(
                 "select u.id, u.name, u.create_time, u.total_credit, u.expavg_credit, "
                 "u.expavg_time, u.country, u.url, u.show_hosts, u.email_addr, u.email_validated, "
                 "u.cross_project_id, t.id as team_id, t.name as team, {} from user u "
                 "left join team t on t.id = u.teamid where (? or u.id = ?) and "
                 "(? = 0 or u.teamid = ?) and (? = 0 or {}) and (? = '' or {} or {}) "
                 "order by {} desc, u.id limit ? offset ?",
                 choice.for_administrator
                     ? fmt::format("(select count(*) from host h where h.userid = u.id) as hosts, "
                                   "{} as is_banned",
                                   kBanned)
                     : "0 as hosts, 0 as is_banned",
                 kBanned, like_text("u.name"), like_text("u.email_addr"),
                 choice.order == ListOrder::kCredit ? "u.total_credit" : "u.expavg_credit"),
             {!choice.id, choice.id.value_or(0), choice.team, choice.team, choice.is_banned,
              choice.found, pattern, pattern, choice.limit, choice.offset})) {
        const std::string& email = row.text("email_addr");
        users.push_back({.id = row.integer("id"),
                         .name = row.text("name"),
                         .created = row.integer("create_time"),
                         .credit = row.real("total_credit"),
                         .recent_credit = recent_credit(row, now),
                         .country = row.text("country"),
                         .url = row.text("url"),
                         .team_id = row.integer("team_id"),
                         .team = row.text("team"),
                         .cross_project_id = md5_of_text(row.text("cross_project_id") + email),
                         .shows_hosts = row.integer("show_hosts") != 0,
                         .is_email_confirmed = row.integer("email_validated") != 0,
                         .email = choice.for_administrator ? email : "",
                         .hosts = row.integer("hosts"),
                         .is_banned = row.integer("is_banned") != 0});
    }
    return users;
}

std::vector<UserView> leaderboard(Database& database, int count, bool has_other_apps) {
    if (!has_other_apps) return read_users(database, {.limit = count, .for_administrator = true});
    // A contribution's owner is found as dedloc-purge finds it.
    std::vector<UserView> users;
    for (const Row& row : database.query(
             "select owner, sum(p.credit) as credit from (select coalesce(nullif(k.userid, 0), "
             "r.userid, 0) as owner, c.credit from dedloc_contribution c left join dedloc_ticket k "
             "on k.runid = c.runid and k.peer_key = c.peer_key left join result r on r.id = "
             "c.resultid where c.credit_state = ? union all select userid, credit from "
             "dedloc_daily_credit) p join user u on u.id = p.owner group by owner "
             "order by credit desc, owner limit ?",
             {CreditState::kCredited, count})) {
        const ListChoice owner{.id = row.integer("owner"), .for_administrator = true};
        for (UserView& user : read_users(database, owner)) {
            user.credit = row.real("credit");
            users.push_back(std::move(user));
        }
    }
    return users;
}

json::Value::List badges_of(Database& database, const char* kind, std::int64_t id) {
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

std::optional<json::Value> user_data(Database& database, std::int64_t id) {
    const auto found = read_users(database, {.id = id});
    if (found.empty()) return std::nullopt;
    const UserView& user = found.front();
    json::Value data = standing(user);
    data.set("created", user.created)
        .set("url", safe_link(user.url))
        .set("team_id", user.team_id)
        .set("team", user.team)
        .set("cross_project_id", user.cross_project_id)
        .set("shows_hosts", user.shows_hosts)
        .set("hosts", user.shows_hosts ? hosts_of(database, id) : json::Value::List{})
        .set("badges", badges_of(database, "user", id));
    return data;
}

json::Value user_list(Database& database, ListChoice choice) {
    choice.order = ListOrder::kRecentCredit;
    choice.for_administrator = true;
    json::Value::List list;
    for (const UserView& user : read_users(database, choice)) {
        json::Value data;
        data.set("id", user.id)
            .set("name", user.name)
            .set("email", user.email)
            .set("team", user.team)
            .set("credit", user.credit)
            .set("recent_credit", user.recent_credit)
            .set("hosts", user.hosts)
            .set("created_at", user.created)
            .set("is_banned", user.is_banned);
        list.push_back(std::move(data));
    }
    json::Value data;
    return data.set("users", std::move(list));
}

json::Value user_facts(Database& database, std::int64_t id) {
    const UserView user = read_users(database, {.id = id, .for_administrator = true}).at(0);
    json::Value::List bans = bans_of(database, id, 0);
    json::Value data;
    data.set("id", id)
        .set("name", user.name)
        .set("email", user.email)
        .set("is_email_confirmed", user.is_email_confirmed)
        .set("country", user.country)
        .set("team_id", user.team_id)
        .set("team", user.team)
        .set("created_at", user.created)
        .set("credit", user.credit)
        .set("recent_credit", user.recent_credit)
        .set("is_banned", !bans.empty())
        .set("bans", std::move(bans))
        .set("hosts", host_list(database, {.user = id}).field("hosts"));
    add_work(data, database, {.user = id});
    data.set("same_addresses", same_addresses(database, id));
    return data;
}

}  // namespace dedloc::server
