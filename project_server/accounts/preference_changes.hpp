// Reads and changes the preferences of an account in the database.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "project_server/accounts/account_changes.hpp"
#include "project_server/accounts/computing_choices.hpp"
#include "project_server/accounts/job_preferences.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Reads the choices of jobs of a user. Errors: DatabaseError.
ProjectChoices read_choices(Database& database, std::int64_t user);
/// Gives a venue its own preferences, or takes them away (nothing). "" is the general ones. Errors:
/// DatabaseError.
Refusal choose_jobs(Database& database, std::int64_t user, const std::string& venue,
                    const std::optional<JobPreferences>& jobs);

/// Reads the computing preferences of a user. Errors: DatabaseError.
ComputingChoices read_computing_choices(Database& database, std::int64_t user);
/// Writes them for a venue, or takes them away; see with_computing(). Errors: DatabaseError.
Refusal choose_computing(Database& database, std::int64_t user, const std::string& venue,
                         const std::optional<ComputingValues>& values, std::int64_t now);

/// Says where a computer of the user is. Errors: DatabaseError.
Refusal set_venue(Database& database, std::int64_t user, std::int64_t host,
                  const std::string& venue);

}  // namespace dedloc::server
