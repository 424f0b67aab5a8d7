// The pages of a user, of a team and of a computer, as any visitor may see them.
#pragma once

#include <cstdint>
#include <optional>

#include "project_server/database/database.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::server {

/// {id, name, created, credit, recent_credit, country, url, team_id, team, cross_project_id,
/// shows_hosts, hosts, badges}. `hosts` is empty unless the user shows them; else the 100 that were
/// heard of last. Nothing if there is no such user. Errors: DatabaseError.
std::optional<json::Value> user_data(Database& database, std::int64_t user);

/// {id, name, created, credit, recent_credit, country, url, description, founder_id, founder,
/// is_joinable, member_count, members, badges, can_join, can_edit, is_member}: the first 100
/// members by total credit; the last three are about `viewer` (user.id, 0: not signed in). Nothing
/// if there is no such team. Errors: DatabaseError.
std::optional<json::Value> team_data(Database& database, std::int64_t team, std::int64_t viewer);

/// [{value, is_chosen}]: no venue (value "") and BOINC's venues, for a choice.
json::Value::List venue_choices(const std::string& chosen);

/// One computer; its venue is there for its user only. Nothing if there is none, or if its user
/// does not show it and is not `viewer` (user.id, 0: not signed in). Names and addresses
/// of the computer are never part of it. Errors: DatabaseError.
std::optional<json::Value> host_data(Database& database, std::int64_t host, std::int64_t viewer);

/// The computers of a user, the one heard of last first. Errors: DatabaseError.
json::Value::List host_list(Database& database, std::int64_t user);

}  // namespace dedloc::server
