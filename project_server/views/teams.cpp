// Conditions that the choice does not make are constant, and MariaDB drops them before it plans. No
// index counts a team's members, so a list for visitors has the number that the team's row has. For
// one table alone MariaDB would rather sort all rows than follow an index, so that list names it.
#include "project_server/views/teams.hpp"

#include <fmt/format.h>

#include <utility>

#include "project_server/database/recent_credit.hpp"
#include "project_server/database/text_columns.hpp"
#include "project_server/views/safe_link.hpp"
#include "project_server/views/users.hpp"

namespace dedloc::server {

std::vector<TeamView> read_teams(Database& database, const ListChoice& choice) {
    const bool is_counted = choice.for_administrator || choice.id;
    const bool by_credit = choice.order == ListOrder::kCredit;
    const double now = unix_now();
    std::vector<TeamView> teams;
    for (const Row& row : database.query(
             fmt::format(
                 "select t.id, t.name, t.create_time, t.total_credit, t.expavg_credit, "
                 "t.expavg_time, t.country, t.url, t.description, t.joinable, u.id as founder_id, "
                 "u.name as founder, {} as members from team t {} left join user u on "
                 "u.id = t.userid where (? or t.id = ?) and (? = '' or {}) "
                 "order by {} desc, t.id limit ? offset ?",
                 is_counted ? "(select count(*) from user m where m.teamid = t.id)" : "t.nusers",
                 is_counted  ? ""
                 : by_credit ? "force index for order by (team_tot)"
                             : "force index for order by (dedloc_team_avg)",
                 like_text("t.name"), by_credit ? "t.total_credit" : "t.expavg_credit"),
             {!choice.id, choice.id.value_or(0), choice.found, like_pattern(choice.found),
              choice.limit, choice.offset})) {
        teams.push_back({.id = row.integer("id"),
                         .name = row.text("name"),
                         .created = row.integer("create_time"),
                         .credit = row.real("total_credit"),
                         .recent_credit = recent_credit(row, now),
                         .country = row.text("country"),
                         .url = row.text("url"),
                         .description = row.text("description"),
                         .is_joinable = row.integer("joinable") != 0,
                         .founder_id = row.integer("founder_id"),
                         .founder = row.text("founder"),
                         .members = row.integer("members")});
    }
    return teams;
}

std::optional<json::Value> team_data(Database& database, std::int64_t id, std::int64_t viewer) {
    const auto found = read_teams(database, {.id = id});
    if (found.empty()) return std::nullopt;
    const TeamView& team = found.front();
    json::Value::List members;
    for (const UserView& member : read_users(database, {.team = id})) {
        members.push_back(standing(member));
    }
    json::Value data = standing(team);
    data.set("created", team.created)
        .set("url", safe_link(team.url))
        .set("description", team.description)
        .set("founder_id", team.founder_id)
        .set("founder", team.founder)
        .set("is_joinable", team.is_joinable)
        .set("member_count", team.members)
        .set("members", std::move(members))
        .set("badges", badges_of(database, "team", id));
    const auto own = read_users(database, {.id = viewer});
    const bool is_member = !own.empty() && own.front().team_id == id;
    const bool is_founder = !own.empty() && team.founder_id == viewer;
    data.set("is_member", is_member)
        .set("can_join", !own.empty() && !is_member && (is_founder || team.is_joinable))
        .set("can_edit", is_founder);
    return data;
}

json::Value team_list(Database& database, ListChoice choice) {
    choice.order = ListOrder::kRecentCredit;
    choice.for_administrator = true;
    json::Value::List list;
    for (const TeamView& team : read_teams(database, choice)) {
        json::Value data;
        data.set("id", team.id)
            .set("name", team.name)
            .set("founder_id", team.founder_id)
            .set("founder", team.founder)
            .set("members", team.members)
            .set("credit", team.credit)
            .set("recent_credit", team.recent_credit)
            .set("url", team.url)
            .set("created_at", team.created);
        list.push_back(std::move(data));
    }
    json::Value data;
    return data.set("teams", std::move(list));
}

}  // namespace dedloc::server
