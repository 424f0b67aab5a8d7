// FLOP/s at which the jobs of a host have trained, as the project has counted them: samples of the
// ledger and the time in which the host took part (database/presence.hpp). Clients have no say in
// them: a host that contributes less than it claims has a lower rate here.
#pragma once

#include <cstdint>

#include "project_server/database/database.hpp"
#include "project_server/scheduler/plan_class.hpp"

namespace dedloc::server {

/// Adds the statement that selects the rates of a host's jobs in the last 30 days. `now`: Unix
/// time, seconds. Cost: at most 64 rows, found by an index.
void add_measured_rates(Batch& batch, std::int64_t host, std::int64_t now);

/// The rates in its answer. A plan class in which the host took part for less than half an hour has
/// none: a job's first minutes are no measure of it.
MeasuredRates measured_rates(const Rows& rows);

}  // namespace dedloc::server
