// Baselines choose ranges by a fixed rule and take their costs from forecast(), so the same model
// measures them and the planner's plans.
#include "peer/planning/baselines.hpp"

#include <optional>

#include "peer/base/check.hpp"

namespace dedloc::planning {
namespace {

SharePlan plan_of(const PlanRequest& request, std::vector<ChunkRange> ranges) {
    SharePlan plan;
    plan.ranges = std::move(ranges);
    plan.forecast = forecast(request, plan.ranges);
    plan.optimum = plan.forecast.transfer;
    return plan;
}

std::vector<std::uint32_t> reachable_of(const PlanRequest& request) {
    std::vector<std::uint32_t> reachable;
    for (std::uint32_t k = 0; k < request.members.size(); ++k) {
        if (request.members[k].is_reachable) reachable.push_back(k);
    }
    return reachable;
}

}  // namespace

Result<SharePlan, PlanFailure> equal_shares(const PlanRequest& request) {
    const std::vector<std::uint32_t> reducers = reachable_of(request);
    if (reducers.empty()) return Failure{PlanFailure::kNoReducer};
    const std::uint32_t chunks = size_of(request).chunks;
    const auto count = static_cast<std::uint32_t>(reducers.size());
    std::vector<ChunkRange> ranges;
    std::uint32_t next = 0;
    for (std::uint32_t k = 0; k < count && next < chunks; ++k) {
        const std::uint32_t end = next + chunks / count + (k < chunks % count ? 1 : 0);
        ranges.push_back({PeerIndex{reducers[k]}, next, end});
        next = end;
    }
    return plan_of(request, std::move(ranges));
}

SharePlan parameter_server(const PlanRequest& request, PeerIndex server) {
    DEDLOC_CHECK(
        server.value() < request.members.size() && request.members[server.value()].is_reachable,
        "a parameter server can be dialled", server.value());
    return plan_of(request, {{server, 0, size_of(request).chunks}});
}

Result<SharePlan, PlanFailure> best_parameter_server(const PlanRequest& request) {
    std::optional<SharePlan> best;
    for (const std::uint32_t server : reachable_of(request)) {
        SharePlan plan = parameter_server(request, PeerIndex{server});
        if (!best || plan.optimum < best->optimum) best = std::move(plan);
    }
    if (!best) return Failure{PlanFailure::kNoReducer};
    return *std::move(best);
}

}  // namespace dedloc::planning
