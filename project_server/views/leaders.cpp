// One statement reads a page and one row more, which only tells whether there is a next page. Its
// order is that of an index. Recent credit is stored as of different times, so the rows of a page
// are sorted once more by what it has decayed to now. Countries have no index: their sums are
// computed over all users, with the decay in SQL.
#include "project_server/views/leaders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "project_server/database/recent_credit.hpp"
#include "project_server/views/hosts.hpp"
#include "project_server/views/teams.hpp"
#include "project_server/views/users.hpp"

namespace dedloc::server {
namespace {

constexpr int kLeaderRows = 50;

/// Sums over the users of a country.
struct Country {
    std::string name;
    std::int64_t users = 0;
    double credit = 0;
    double recent_credit = 0;
};

std::vector<Country> read_countries(Database& database, const ListChoice& choice) {
    std::vector<Country> countries;
    for (const Row& row : database.query(
             fmt::format("select country, count(*) as users, sum(total_credit) as total_credit, "
                         "sum({}) as expavg_credit from user group by country order by {} desc, "
                         "country limit ? offset ?",
                         recent_credit_expression(unix_now()),
                         choice.order == ListOrder::kCredit ? "total_credit" : "expavg_credit"),
             {choice.limit, choice.offset})) {
        countries.push_back({.name = row.text("country"),
                             .users = row.integer("users"),
                             .credit = row.real("total_credit"),
                             .recent_credit = row.real("expavg_credit")});
    }
    return countries;
}

void describe(json::Value& data, const UserView& user) {
    data.set("id", user.id)
        .set("name", user.name)
        .set("country", user.country)
        .set("created", user.created)
        .set("team_id", user.team_id)
        .set("team", user.team);
}

void describe(json::Value& data, const TeamView& team) {
    data.set("id", team.id)
        .set("name", team.name)
        .set("country", team.country)
        .set("created", team.created)
        .set("members", team.members);
}

void describe(json::Value& data, const HostView& host) {
    data.set("id", host.id)
        .set("user_id", host.owner_id)
        .set("owner", host.owner)
        .set("cores", host.cores)
        .set("processor", host.processor)
        .set("system", host.system)
        .set("last_contact", host.last_contact);
}

void describe(json::Value& data, const Country& country) {
    data.set("name", country.name).set("users", country.users);
}

/// A page of what `read` finds, one more than the page shows.
template <class Reader>
json::Value page_of(Reader read, Database& database, bool by_recent, int page) {
    const int first = (page - 1) * kLeaderRows;
    auto found =
        read(database, {.limit = kLeaderRows + 1,
                        .offset = first,
                        .order = by_recent ? ListOrder::kRecentCredit : ListOrder::kCredit});
    const bool has_next = std::ssize(found) > kLeaderRows && page < kLastLeaderPage;
    if (std::ssize(found) > kLeaderRows) found.pop_back();
    using Subject = typename decltype(found)::value_type;
    // The index orders by averages that are up to a day old, each by another time.
    if (by_recent) std::ranges::stable_sort(found, std::greater{}, &Subject::recent_credit);
    json::Value::List rows;
    for (const Subject& subject : found) {
        json::Value row;
        row.set("place", first + std::ssize(rows) + 1);
        describe(row, subject);
        row.set("credit", subject.credit).set("recent_credit", subject.recent_credit);
        rows.push_back(std::move(row));
    }
    json::Value data;
    data.set("is_recent", by_recent).set("page", page);
    data.set("previous", page > 1 ? json::Value{page - 1} : json::Value{false});
    data.set("next", has_next ? json::Value{page + 1} : json::Value{false});
    data.set("rows", std::move(rows));
    return data;
}

}  // namespace

json::Value leaders_data(Database& database, Ranked ranked, bool by_recent, int page) {
    switch (ranked) {
        case Ranked::kUsers:
            return page_of(read_users, database, by_recent, page);
        case Ranked::kTeams:
            return page_of(read_teams, database, by_recent, page);
        case Ranked::kHosts:
            return page_of(read_hosts, database, by_recent, page);
        case Ranked::kCountries:
            return page_of(read_countries, database, by_recent, page);
    }
    return {};
}

}  // namespace dedloc::server
