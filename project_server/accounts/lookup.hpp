// Finds accounts, computers and teams by what an administrator knows of them. Names are compared by
// bytes: what is only alike for the database, by case, accents or invisible characters, is never
// taken, but the message of the error lists it with its id.
#pragma once

#include <cstdint>
#include <string>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// The account that `who` names: by its id (digits only), its e-mail address (with an @; ASCII
/// letters in any case), or its exact name. Errors: InputError (none, or several have that name),
/// DatabaseError.
std::int64_t find_user(Database& database, const std::string& who);

/// The computer that `who` names: by its id (digits only) or its exact name. Errors as above.
std::int64_t find_host(Database& database, const std::string& who);

/// The team that `who` names: by its id (digits only), its exact name, or, if no team has that, its
/// name in any case. Errors as above.
std::int64_t find_team(Database& database, const std::string& who);

/// `who` as an id, if it has 1 to 18 digits only; else 0.
std::int64_t id_in(const std::string& who);

}  // namespace dedloc::server
