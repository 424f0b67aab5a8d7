// The tasks of one user, for that user only.
#pragma once

#include <cstdint>
#include <optional>

#include "project_server/database/database.hpp"
#include "project_server/web/data/page_data.hpp"

namespace dedloc::server {

/// {page, previous, next, tasks}: page `page` (from 1) of 50 tasks, the newest first. Errors:
/// DatabaseError.
PageData task_list(Database& database, std::int64_t user, int page);

/// One task of the user; nothing if it is another's. Errors: DatabaseError.
std::optional<PageData> task_data(Database& database, std::int64_t task, std::int64_t user);

/// What happened to a task, in words. The row has server_state, outcome and validate_state.
const char* task_state(const Row& row);

}  // namespace dedloc::server
