// The leaderboards: users, teams, computers and countries by total or recent credit.
#pragma once

#include "project_server/database/database.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::server {

/// What is ranked.
enum class Ranked {
    kUsers,      ///< accounts
    kTeams,      ///< teams
    kHosts,      ///< computers of users who show them
    kCountries,  ///< sums over the users of a country
};

/// The last page of a leaderboard.
inline constexpr int kLastLeaderPage = 200;

/// {is_recent, page, previous, next, rows}: page `page` (from 1) of 50 rows by total credit, or by
/// recent average credit. `previous` and `next` are the numbers of the neighbouring pages, false if
/// there is none. Errors: DatabaseError. Cost: `page` times 50 entries of an index; countries: all
/// users.
json::Value leaders_data(Database& database, Ranked ranked, bool by_recent, int page);

}  // namespace dedloc::server
