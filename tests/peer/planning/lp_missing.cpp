// Built where Clp is not installed.
#include "tests/peer/planning/lp_reference.hpp"

namespace dedloc::planning {

bool has_lp_solver() {
    return false;
}

std::optional<double> lp_optimum_seconds(const PlanRequest&) {
    return std::nullopt;
}

}  // namespace dedloc::planning
