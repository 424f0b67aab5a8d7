// The jobs of a run: how many are kept ready for volunteers, and how long each lasts.
#pragma once

#include <optional>
#include <string>

#include "project_server/database/database.hpp"
#include "project_server/web/data/page_data.hpp"

namespace dedloc::cli {

/// Numbers to set; absent: stays as it is. 0: as dedloc-work was started.
struct RunJobs {
    std::optional<int> seats_ready{};  ///< unsent jobs
    std::optional<int> lease_hours{};  ///< hours after which a job reports
};

/// Sets what `jobs` has, and returns {run, seats_ready, lease_hours} after that. dedloc-work makes
/// the next jobs by it; jobs that exist stay as they are. Errors: InputError (no such run),
/// DatabaseError.
server::PageData run_jobs(server::Database& database, const std::string& name, const RunJobs& jobs);

}  // namespace dedloc::cli
