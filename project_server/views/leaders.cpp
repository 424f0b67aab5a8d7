#include "project_server/views/leaders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>

#include "project_server/database/recent_credit.hpp"

namespace dedloc::server {
namespace {

constexpr int kLeaderRows = 50;

/// The select of a ranking, without its order and limit. For one table alone MariaDB would rather
/// sort all rows than follow the index.
std::string selection_of(Ranked ranked, bool by_recent, double now) {
    switch (ranked) {
        case Ranked::kUsers:
            return "select r.id, r.name, r.country, r.total_credit, r.expavg_credit, "
                   "r.expavg_time, "
                   "r.create_time, t.id as team_id, t.name as team from user r "
                   "left join team t on t.id = r.teamid";
        case Ranked::kTeams:
            return "select r.id, r.name, r.country, r.total_credit, r.expavg_credit, "
                   "r.expavg_time, "
                   "r.create_time, r.nusers from team r force index for order by (" +
                   std::string{by_recent ? "dedloc_team_avg" : "team_tot"} + ")";
        case Ranked::kHosts:
            return "select r.id, u.id as user_id, u.name as owner, r.p_ncpus, r.p_model, "
                   "r.os_name, r.total_credit, r.expavg_credit, r.expavg_time, r.rpc_time from "
                   "host r "
                   "join user u on u.id = r.userid and u.show_hosts = 1";
        case Ranked::kCountries:
            return "select 0 as id, country as name, count(*) as users, sum(total_credit) as "
                   "total_credit, sum(" +
                   recent_credit_expression(now) +
                   ") as expavg_credit, 0 as expavg_time from user group by country";
    }
    return "";
}

json::Value row_data(Ranked ranked, const Row& row, int place, double now) {
    json::Value data;
    data.set("place", place);
    if (ranked == Ranked::kHosts) {
        data.set("id", row.integer("id"))
            .set("user_id", row.integer("user_id"))
            .set("owner", row.text("owner"))
            .set("cores", row.integer("p_ncpus"))
            .set("processor", row.text("p_model"))
            .set("system", row.text("os_name"))
            .set("last_contact", row.integer("rpc_time"));
    } else if (ranked == Ranked::kCountries) {
        data.set("name", row.text("name")).set("users", row.integer("users"));
    } else {
        data.set("id", row.integer("id"))
            .set("name", row.text("name"))
            .set("country", row.text("country"))
            .set("created", row.integer("create_time"));
        if (ranked == Ranked::kTeams) {
            data.set("members", row.integer("nusers"));
        } else {
            data.set("team_id", row.integer("team_id")).set("team", row.text("team"));
        }
    }
    data.set("credit", row.real("total_credit")).set("recent_credit", recent_credit(row, now));
    return data;
}

}  // namespace

json::Value leaders_data(Database& database, Ranked ranked, bool by_recent, int page) {
    const bool is_sum = ranked == Ranked::kCountries;
    const std::string order =
        fmt::format("{}{} desc, {}", is_sum ? "" : "r.",
                    by_recent ? "expavg_credit" : "total_credit", is_sum ? "country" : "r.id");
    const int first = (page - 1) * kLeaderRows;
    const double now = unix_now();
    Rows found = database.query(
        fmt::format("{} order by {} limit ? offset ?", selection_of(ranked, by_recent, now), order),
        {kLeaderRows + 1, first});
    const bool has_next = std::ssize(found) > kLeaderRows && page < kLastLeaderPage;
    if (std::ssize(found) > kLeaderRows) found.pop_back();
    // The index orders by averages that are up to a day old, each by another time.
    if (by_recent) {
        std::ranges::stable_sort(found, std::greater{},
                                 [&](const Row& row) { return recent_credit(row, now); });
    }
    json::Value::List rows;
    for (const Row& row : found) {
        rows.push_back(row_data(ranked, row, first + static_cast<int>(rows.size()) + 1, now));
    }
    json::Value data;
    data.set("is_recent", by_recent).set("page", page);
    data.set("previous", page > 1 ? json::Value{page - 1} : json::Value{false});
    data.set("next", has_next ? json::Value{page + 1} : json::Value{false});
    data.set("rows", std::move(rows));
    return data;
}

}  // namespace dedloc::server
