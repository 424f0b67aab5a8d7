// Bans under an official BOINC server, whose scheduler does not read dedloc_revocation. It refuses
// every request of a computer whose host.max_results_day is -1, which BOINC calls blacklisted.
#pragma once

#include <cstdint>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// host.max_results_day of a blacklisted computer.
inline constexpr int kBlacklisted = -1;

/// Blacklists the computers that a ban of a computer or of an account covers, and gives the others
/// that it has blacklisted their former value back; computers that the administrator has
/// blacklisted by other means stay so. Changes only rows that are not as they should be, so daemons
/// may call it again and again: it covers new computers of banned accounts, and what other programs
/// have undone. Returns how many computers it has changed.
///
/// Errors  DatabaseError     Cost  two queries by index if nothing is to do
std::uint64_t blacklist_banned_hosts(Database& database);

/// Gives all computers that it has blacklisted their former value back. Errors: DatabaseError.
void clear_host_blacklist(Database& database);

}  // namespace dedloc::server
