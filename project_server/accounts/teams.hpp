// Teams. Each function that may refuse returns a sentence for the user then, and nothing when it is
// done. Errors: DatabaseError.
#pragma once

#include <cstdint>
#include <string>

#include "project_server/accounts/account_changes.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::server {

/// What a team's founder writes about it. All of it is text, never HTML.
struct TeamText {
    std::string name;         ///< unique, at most 100 bytes
    std::string url;          ///< web page; shown if it is an http address
    std::string country;      ///< empty: not stated
    std::string description;  ///< at most 4,000 bytes
    bool is_joinable = true;  ///< anyone may join
};

/// A new team with the user as founder and member; `team` becomes team.id. `now`: UTC seconds.
Refusal create_team(Database& database, std::int64_t user, const TeamText& text, double now,
                    std::int64_t& team);
/// Rewrites what a team's founder wrote; refuses others.
Refusal edit_team(Database& database, std::int64_t user, std::int64_t team, const TeamText& text);
/// Makes the user a member, and of no other team. Credit earned before stays where it is.
Refusal join_team(Database& database, std::int64_t user, std::int64_t team);
/// Ends the user's membership. A founder who leaves stays the founder.
void leave_team(Database& database, std::int64_t user);

/// For the administrator: gives a team another name, or deletes it with its credit; its members are
/// without a team then and keep theirs.
Refusal rename_team(Database& database, std::int64_t team, const std::string& name);
void close_team(Database& database, std::int64_t team);

/// After a user is gone: the teams that the user founded go to the member with the most credit, or
/// are deleted without members; `team`, of which the user was a member, is counted again. Inside a
/// transaction.
void hand_teams_on(Database& database, std::int64_t user, std::int64_t team);

}  // namespace dedloc::server
