// Textbook plans as baselines for the planner: equal shares and parameter servers.
#pragma once

#include "peer/planning/planner.hpp"

namespace dedloc::planning {

/// Plain all-reduce: every reachable member averages the same number of chunks, the first ones one
/// more if chunks do not divide evenly. `optimum` is the transfer time of the plan itself.
/// Errors    kNoReducer
Result<SharePlan, PlanFailure> equal_shares(const PlanRequest& request);

/// Parameter server: one member averages everything. Requires a reachable member (DEDLOC_CHECK).
SharePlan parameter_server(const PlanRequest& request, PeerIndex server);

/// The parameter server with the shortest round; of equals the first member.
/// Errors    kNoReducer        Cost  O(n²)
Result<SharePlan, PlanFailure> best_parameter_server(const PlanRequest& request);

}  // namespace dedloc::planning
