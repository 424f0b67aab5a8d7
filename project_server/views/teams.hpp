// Teams: one reader, and what a visitor and the command line show of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"
#include "project_server/json/value.hpp"
#include "project_server/views/list_choice.hpp"

namespace dedloc::server {

/// A team. All of its texts are volunteers' words.
struct TeamView {
    std::int64_t id = 0;          ///< team.id
    std::string name;             ///< unique
    std::int64_t created = 0;     ///< UTC seconds
    double credit = 0;            ///< total
    double recent_credit = 0;     ///< credits a day, as of now
    std::string country;          ///< empty: not stated
    std::string url;              ///< may be unsafe to link (safe_link.hpp)
    std::string description;      ///< text, never HTML
    bool is_joinable = false;     ///< anyone may join
    std::int64_t founder_id = 0;  ///< user.id; 0: the account is gone
    std::string founder;          ///< name of the account
    std::int64_t members = 0;     ///< counted for one team and for an administrator, else as noted
};

/// Those that the choice names. Errors: DatabaseError. Cost: a limited part of an index, unless the
/// choice is an administrator's, or names a text.
std::vector<TeamView> read_teams(Database& database, const ListChoice& choice);

/// The page of a team: {id, name, created, credit, recent_credit, country, url, description,
/// founder_id, founder, is_joinable, member_count, members, badges, can_join, can_edit, is_member}:
/// the first 100 members by total credit; the last three are about `viewer` (user.id, 0: not signed
/// in). Nothing if there is no such team. Errors: DatabaseError.
std::optional<json::Value> team_data(Database& database, std::int64_t team, std::int64_t viewer);

/// {teams: [{id, name, founder_id, founder, members, credit, recent_credit, url, created_at}]} for
/// an administrator, most recent credit first. Errors: DatabaseError.
json::Value team_list(Database& database, ListChoice choice);

}  // namespace dedloc::server
