// The planner's linear program, given to a general LP solver.
#pragma once

#include <optional>

#include "peer/planning/planner.hpp"

namespace dedloc::planning {

/// Whether this build has the solver.
bool has_lp_solver();

/// Seconds of the optimum without a cap on reducers; nothing if the solver finds none.
/// Requires has_lp_solver().
std::optional<double> lp_optimum_seconds(const PlanRequest& request);

}  // namespace dedloc::planning
