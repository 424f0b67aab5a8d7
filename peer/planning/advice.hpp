// Advice for operators of a run: which members should compute, whether another aggregator helps,
// how large the target batch should be. Uses the planner's model and the members' speeds of
// computing. Not part of the protocol, so times are floating-point seconds.
#pragma once

#include <optional>
#include <vector>

#include "peer/planning/planner.hpp"

namespace dedloc::planning {

/// A round and the computing before it.
struct TrainingRequest {
    PlanRequest round;                       ///< members and links of the round
    std::vector<double> samples_per_second;  ///< in member order; counts only for contributors
    std::uint64_t target_batch = 0;          ///< samples of a round
};

/// The duration of a step: computing until the target batch is reached, then the round. The
/// protocol does not overlap the two.
struct Pace {
    double computing_seconds = 0;  ///< time to compute the target batch
    double round_seconds = 0;      ///< T* and two latencies
    /// Duration of the whole step.
    double step_seconds() const { return computing_seconds + round_seconds; }
    bool operator==(const Pace&) const = default;
};

/// The pace of this request.
/// Requires  one speed for each member, a target batch of at least one sample (DEDLOC_CHECK)
/// Nothing   if no member computes or none can be dialled
std::optional<Pace> pace_of(const TrainingRequest& request);

/// Trainers that should rather not compute: they only reduce, or do nothing.
struct TrainerChoice {
    std::vector<PeerIndex> dropped;  ///< ascending; empty: all should compute
    Pace pace;                       ///< pace without them
    bool operator==(const TrainerChoice&) const = default;
};
/// The shortest step found by a local search over trainers that neither contribute nor receive.
/// Candidates drop the first k trainers in three orders (by bandwidth, by bandwidth per sample, by
/// samples) or all but one; from the best candidate, single trainers are dropped or taken back
/// while that helps, for at most 4 passes.
///
/// Requires, Nothing   as pace_of        Cost   at most 8 plans for each trainer
/// Source    DeDLOC, the choice of c in its optimisation problem; there a mixed-integer program.
///           Not the best of all 2ⁿ, but within 3 % of it in tests/peer/planning/advice_test.cpp
std::optional<TrainerChoice> choose_trainers(const TrainingRequest& request);

/// T* with one more member that only reduces. Errors: none, since that member can be dialled.
Duration optimum_with_aggregator(const PlanRequest& request, const LinkSpeed& link);

/// The target batch at which `share` of a step's time is spent on computing. A round costs the same
/// for every batch, so a larger batch makes rounds rarer.
/// Requires 0 ≤ share < 1 (DEDLOC_CHECK). Nothing as pace_of.
std::optional<std::uint64_t> batch_for(const TrainingRequest& request, double share);

}  // namespace dedloc::planning
