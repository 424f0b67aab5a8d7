// Three searches over time (capacity.hpp). The first one counts shares in 2⁻⁴⁸ and finds T*. The
// second one, if there is a latency, finds the fewest reducers that need at most a latency more.
// The third one counts shares in whole chunks, from T* on, and its selection is shared out. The
// same integers on every machine: no floating point here.
#include "peer/planning/planner.hpp"

#include <algorithm>

#include "peer/base/check.hpp"
#include "peer/planning/capacity.hpp"

namespace dedloc::planning {
namespace {

void check_request(const PlanRequest& request) {
    DEDLOC_CHECK(request.members.size() <= wire::kMaxMembers, "a round's members are limited",
                 request.members.size());
    DEDLOC_CHECK(request.max_reducers > 0, "a round needs a reducer");
    DEDLOC_CHECK(request.latency.count() >= 0, "a latency is not negative");
}

/// The earliest time at which a selection exists, and that selection.
struct Solution {
    Ticks time = 0;
    Selection selection;
};

std::optional<Selection> selection_at(const Capacities& capacities, Ticks time, std::uint64_t units,
                                      std::uint32_t reducers) {
    const auto bounds = capacities.bounds_at(time, units);
    if (!bounds) return std::nullopt;
    return select_reducers(*bounds, units, reducers);
}

Solution solve(const Capacities& capacities, Ticks earliest, std::uint64_t units,
               std::uint32_t reducers) {
    const Ticks time = first_time(earliest, [&](Ticks at) {
        return selection_at(capacities, at, units, reducers).has_value();
    });
    auto selection = selection_at(capacities, time, units, reducers);
    DEDLOC_CHECK(selection.has_value(), "a reachable member can average everything in time", time);
    return {time, *std::move(selection)};
}

/// Time that a reducer's part takes on its link: contributions in, averages out.
Ticks time_of_part(const PlanRequest& request, const VectorSize& size, const LinkSpeed& link,
                   std::uint32_t member, std::uint64_t share) {
    const Member& who = request.members[member];
    const Traffic traffic = traffic_of(request);
    const auto part_of = [&](std::uint64_t bytes, std::uint64_t others) {
        const Wide part = static_cast<Wide>(bytes) * others * share >> LinkLimit::kWholeBits;
        return static_cast<std::uint64_t>(part);
    };
    return std::max(
        time_for(part_of(size.average_bytes, traffic.receivers - (who.receives ? 1 : 0)),
                 link.upload),
        time_for(part_of(size.contribution_bytes,  //
                         traffic.contributors - (who.contributes ? 1 : 0)),
                 link.download));
}

/// The fewest reducers that can average everything within `time`, given that `reducers` can.
std::uint32_t fewest_reducers(const Capacities& capacities, Ticks time, std::uint32_t reducers) {
    std::uint32_t too_few = 0;
    std::uint32_t enough = reducers;
    while (enough - too_few > 1) {
        const std::uint32_t middle = too_few + (enough - too_few) / 2;
        const bool is_enough =
            selection_at(capacities, time, LinkLimit::kWhole, middle).has_value();
        (is_enough ? enough : too_few) = middle;
    }
    return enough;
}

/// The number of reducers without those whose part would take less than a latency, as long as the
/// others need at most a latency more than the best plan.
std::uint32_t worthwhile_reducers(const PlanRequest& request, const VectorSize& size,
                                  const Capacities& capacities, const Solution& best) {
    if (request.latency.count() == 0) return request.max_reducers;
    const auto latency = static_cast<Ticks>(request.latency.count());
    const std::vector<LinkSpeed> links = known_links(request);
    const std::vector<std::uint64_t> shares = share_out(best.selection, LinkLimit::kWhole);
    std::uint32_t busy = 0;
    for (std::size_t k = 0; k < shares.size(); ++k) {
        const std::uint32_t member = best.selection.members[k];
        const Ticks time = time_of_part(request, size, links[member], member, shares[k]);
        busy += time >= latency ? 1 : 0;
    }
    const Ticks timeout = best.time + std::min(latency, kMaxTime - best.time);
    return std::max(busy, fewest_reducers(capacities, timeout, request.max_reducers));
}

std::vector<ChunkRange> ranges_of(const Selection& selection,
                                  std::span<const std::uint64_t> shares) {
    std::vector<ChunkRange> ranges;
    std::uint32_t next = 0;
    for (std::size_t k = 0; k < shares.size(); ++k) {
        if (shares[k] == 0) continue;
        const auto end = next + static_cast<std::uint32_t>(shares[k]);
        ranges.push_back({PeerIndex{selection.members[k]}, next, end});
        next = end;
    }
    return ranges;
}

}  // namespace

Result<SharePlan, PlanFailure> plan_shares(const PlanRequest& request) {
    check_request(request);
    const VectorSize size = size_of(request);
    const Capacities capacities{request};
    if (capacities.is_empty()) return Failure{PlanFailure::kNoReducer};
    const Solution best =
        solve(capacities, capacities.earliest(), LinkLimit::kWhole, request.max_reducers);
    const std::uint32_t reducers =
        std::min(size.chunks, worthwhile_reducers(request, size, capacities, best));
    const Solution whole_chunks = solve(capacities, best.time, size.chunks, reducers);
    const std::vector<std::uint64_t> shares = share_out(whole_chunks.selection, size.chunks);
    SharePlan plan;
    plan.ranges = ranges_of(whole_chunks.selection, shares);
    plan.optimum = Duration{best.time};
    plan.forecast = forecast(request, plan.ranges);
    return plan;
}

}  // namespace dedloc::planning
