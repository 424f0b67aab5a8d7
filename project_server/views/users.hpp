// Volunteers: one reader, and what a visitor, the command line and the leaderboard show of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"
#include "project_server/json/value.hpp"
#include "project_server/views/list_choice.hpp"

namespace dedloc::server {

/// An account. The last three facts are read for an administrator only.
struct UserView {
    std::int64_t id = 0;              ///< user.id
    std::string name;                 ///< a volunteer's words, like country and url
    std::int64_t created = 0;         ///< UTC seconds
    double credit = 0;                ///< total
    double recent_credit = 0;         ///< credits a day, as of now
    std::string country;              ///< empty: not stated
    std::string url;                  ///< may be unsafe to link (safe_link.hpp)
    std::int64_t team_id = 0;         ///< team.id; 0: in no team
    std::string team;                 ///< its name
    std::string cross_project_id;     ///< public id; hides the e-mail address
    bool shows_hosts = false;         ///< visitors see the computers
    bool is_email_confirmed = false;  ///< a link that was sent to the address has been used
    std::string email{};              ///< never for visitors
    std::int64_t hosts = 0;           ///< number of computers
    bool is_banned = false;           ///< the account itself is
};

/// Those that the choice names. Errors: DatabaseError. Cost: a limited part of an index, unless the
/// choice names a team or a text.
std::vector<UserView> read_users(Database& database, const ListChoice& choice);

/// The first `count` users by credit, with the facts for an administrator. With `has_other_apps`
/// the accounts also have credit of other apps, and `credit` is what our runs gave.
std::vector<UserView> leaderboard(Database& database, int count, bool has_other_apps = false);

/// {id, name, country, credit, recent_credit}: what is said of a user or a team everywhere.
template <class Subject>
json::Value standing(const Subject& subject) {
    json::Value data;
    data.set("id", subject.id)
        .set("name", subject.name)
        .set("country", subject.country)
        .set("credit", subject.credit)
        .set("recent_credit", subject.recent_credit);
    return data;
}

/// [{name, title, level}]: the badges of a "user" or a "team". Errors: DatabaseError.
json::Value::List badges_of(Database& database, const char* kind, std::int64_t id);

/// The page of a user: {id, name, created, credit, recent_credit, country, url, team_id, team,
/// cross_project_id, shows_hosts, hosts, badges}. `hosts` is empty unless the user shows them; else
/// the 100 that were heard of last. Nothing if there is no such user. Errors: DatabaseError.
std::optional<json::Value> user_data(Database& database, std::int64_t user);

/// {users: [{id, name, email, team, credit, recent_credit, hosts, created_at, is_banned}]} for an
/// administrator, most recent credit first. Errors: DatabaseError.
json::Value user_list(Database& database, ListChoice choice);

/// One account for an administrator: {id, name, email, is_email_confirmed, country, team_id, team,
/// created_at, credit, recent_credit, is_banned, bans, hosts, jobs, runs, withheld, suspicions,
/// same_addresses}: `hosts` as host_list(), at most 100, the others as in volunteer_work.hpp.
/// Requires that the account exists. Errors: DatabaseError.
json::Value user_facts(Database& database, std::int64_t user);

}  // namespace dedloc::server
