// The suspicions that the project has recorded (database/suspicions.hpp), for an administrator.
#pragma once

#include <cstdint>

#include "project_server/database/database.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::server {

/// Which suspicions are wanted.
struct SuspicionChoice {
    std::int64_t run = 0;   ///< dedloc_run.id; 0: all runs
    std::int64_t user = 0;  ///< BOINC's ids; 0: all
    std::int64_t host = 0;  ///< as above
    int limit = 100;        ///< at most so many
};

/// [{run, user_id, user, host_id, key, source, what, detail, step, times, first_at, last_at,
/// evidence}], the last one first. `run` is empty where no run is concerned, `key` where no peer
/// is; `evidence` is a path below the project's folder, empty if there is no file. Errors:
/// DatabaseError.
json::Value::List suspicions(Database& database, const SuspicionChoice& choice);

}  // namespace dedloc::server
