// What a volunteer and an administrator read about a task.
#pragma once

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// What happened to a task, in words. The row has server_state, outcome and validate_state.
const char* task_state(const Row& row);

}  // namespace dedloc::server
