// Tasks, the results of BOINC's jobs: those of one user, for that user only, and those of a
// computer, for an administrator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "project_server/database/database.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::server {

/// The account that computes a task, by the task's name; 0: there is none. Errors: DatabaseError.
std::int64_t owner_of_task(Database& database, const std::string& name);

/// {page, previous, next, tasks}: page `page` (from 1) of 50 tasks, the newest first. Errors:
/// DatabaseError.
json::Value task_list(Database& database, std::int64_t user, int page);

/// [{id, name, state, exit_status, sent_at, reported_at, hours, credit}]: the 20 newest of a
/// computer. Errors: DatabaseError.
json::Value::List recent_jobs(Database& database, std::int64_t host);

/// One task of the user; nothing if it is another's. Errors: DatabaseError.
std::optional<json::Value> task_data(Database& database, std::int64_t task, std::int64_t user);

}  // namespace dedloc::server
