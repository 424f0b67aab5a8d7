// The tasks of one user, for that user only.
#pragma once

#include <cstdint>
#include <optional>

#include "project_server/database/database.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::server {

/// {page, previous, next, tasks}: page `page` (from 1) of 50 tasks, the newest first. Errors:
/// DatabaseError.
json::Value task_list(Database& database, std::int64_t user, int page);

/// One task of the user; nothing if it is another's. Errors: DatabaseError.
std::optional<json::Value> task_data(Database& database, std::int64_t task, std::int64_t user);

}  // namespace dedloc::server
