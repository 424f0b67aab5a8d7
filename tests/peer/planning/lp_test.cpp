// The planner's optimum compared with that of a general LP solver.
#include <catch2/catch.hpp>
#include <cmath>
#include <iostream>

#include "tests/peer/planning/fleets.hpp"
#include "tests/peer/planning/lp_reference.hpp"

using namespace dedloc;
using namespace dedloc::planning;

TEST_CASE("on 2,000 random fleets the planner and an LP solver find the same optimum",
          "[planning]") {
    if (!has_lp_solver()) {
        std::cout << "skipped: Clp is not installed, the planner was not compared with it\n";
        return;
    }
    double worst = 0;
    for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
        Random random{seed};
        PlanRequest request = random_fleet(random);
        request.max_reducers = wire::kMaxMembers;
        const auto plan = plan_shares(request);
        REQUIRE(plan);
        const auto expected = lp_optimum_seconds(request);
        INFO("seed " << seed << ", " << request.members.size() << " members");
        REQUIRE(expected.has_value());
        const double found = std::chrono::duration<double>(plan->optimum).count();
        // The planner rounds up to nanoseconds; a lone member needs no time at all.
        const double error = std::fabs(found - *expected);
        CHECK(error <= 1e-6 * *expected + 2e-9);
        if (*expected > 0) worst = std::max(worst, error / *expected);
    }
    std::cout << "largest difference to Clp: " << worst << " of the optimum\n";
}
