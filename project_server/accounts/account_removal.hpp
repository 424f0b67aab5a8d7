// A user's own data: all of it to take along, and its deletion.
#pragma once

#include <cstdint>
#include <string>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// What the project's database has about a user, as JSON: account, computers with their addresses,
/// the newest 10,000 tasks, badges, consents, messages of teams. Password hash and account key are
/// left out: they are secrets, not data about the user. Errors: DatabaseError.
std::string export_account(Database& database, std::int64_t user);

/// Deletes the account, its computers, sessions, badges and consents, and revokes its tickets. The
/// tasks stay, without their text and without the link to the account, so that the runs' figures
/// stay true; user_deleted and host_deleted tell sites of statistics. A team that it founded goes
/// to the member with the most credit, or is deleted without members. In one transaction. `now`:
/// UTC seconds. Errors: DatabaseError.
void delete_account(Database& database, std::int64_t user, double now);

}  // namespace dedloc::server
