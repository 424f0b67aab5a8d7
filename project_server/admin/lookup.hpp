// Finds accounts, computers and teams by what an administrator knows of them.
#pragma once

#include <cstdint>
#include <string>

#include "project_server/database/database.hpp"

namespace dedloc::admin {

/// The account that `who` names: by its id (digits only), its e-mail address (with an @, A to Z in
/// any case), or its exact name. Errors: InputError (none, or several have that name),
/// DatabaseError.
std::int64_t user_id(server::Database& database, const std::string& who);

/// The computer that `who` names: by its id (digits only) or its exact name. Errors as above.
std::int64_t host_id(server::Database& database, const std::string& who);

/// The team that `who` names: by its id (digits only) or its name in any case. Errors as above.
std::int64_t team_id(server::Database& database, const std::string& who);

/// `who` as an id, if it has 1 to 18 digits only; else 0.
std::int64_t id_in(const std::string& who);

}  // namespace dedloc::admin
