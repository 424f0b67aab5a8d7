// Accounts that may see the pages for administrators. They change nothing there: to ban, to publish
// and to pause needs the command line on the server.
#pragma once

#include <cstdint>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Whether the account is an administrator's. Errors: DatabaseError.
bool is_administrator(Database& database, std::int64_t user);
/// Makes it one, or one no more. Errors: DatabaseError.
void set_administrator(Database& database, std::int64_t user, bool is_one);

}  // namespace dedloc::server
