// The plans that everybody knows, to compare with.
#pragma once

#include "peer/planning/planner.hpp"

namespace dedloc::planning {

/// The plain all-reduce: every reachable member averages as many chunks as every other, the first
/// ones one more if they do not divide. `optimum` is the transfer time of the plan itself.
/// Errors    kNoReducer
Result<SharePlan, PlanFailure> equal_shares(const PlanRequest& request);

/// One member averages everything. Requires a reachable member (DEDLOC_CHECK).
SharePlan parameter_server(const PlanRequest& request, PeerIndex server);

/// With the member as server that makes the shortest round; of equals the first.
/// Errors    kNoReducer        Cost  O(n²)
Result<SharePlan, PlanFailure> best_parameter_server(const PlanRequest& request);

}  // namespace dedloc::planning
