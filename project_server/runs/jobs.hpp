// The jobs of a run: how many are kept ready for volunteers, how long each lasts, how many only
// average.
#pragma once

#include <optional>
#include <string>

#include "project_server/database/database.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::runs {

/// Numbers to set; absent: stays as it is.
struct RunJobs {
    std::optional<int> seats_ready{};  ///< unsent jobs; 0: as dedloc-work was started
    std::optional<int> lease_hours{};  ///< hours after which a job reports; 0: likewise
    std::optional<int> aggregators{};  ///< the most jobs that only average, at the same time
};

/// Sets what `jobs` has, and returns {run, seats_ready, lease_hours, aggregators} after that.
/// dedloc-work makes the next jobs by it; jobs that exist stay as they are. Errors: InputError (no
/// such run), DatabaseError.
json::Value run_jobs(server::Database& database, const std::string& name, const RunJobs& jobs);

}  // namespace dedloc::runs
