// Who should compute, and how large the target batch should be: the same model with the members'
// speed of computing beside that of their links. Advice for people, so seconds are floating point.
#pragma once

#include <optional>
#include <vector>

#include "peer/planning/planner.hpp"

namespace dedloc::planning {

struct TrainingRequest {
    PlanRequest round;
    std::vector<double> samples_per_second;  ///< in member order; counts for those that contribute
    std::uint64_t target_batch = 0;
};

/// How long a step takes: micro-batches until the target is reached, then the round. The protocol
/// does one after the other.
struct Pace {
    double computing_seconds = 0;
    double round_seconds = 0;  ///< at T*, with the latency of both ways
    double step_seconds() const { return computing_seconds + round_seconds; }
    bool operator==(const Pace&) const = default;
};

/// Requires  one speed a member, a target batch of at least one sample (DEDLOC_CHECK)
/// Nothing   if nobody computes or nobody can be dialled
std::optional<Pace> pace_of(const TrainingRequest& request);

/// What is gained when some trainers only reduce, or do nothing.
struct TrainerChoice {
    std::vector<PeerIndex> dropped;  ///< ascending; none: all should compute
    Pace pace;                       ///< without them
    bool operator==(const TrainerChoice&) const = default;
};
/// The shortest step found when some trainers neither contribute nor receive: without the first k
/// in three orders (by bandwidth, by bandwidth for each sample, by samples), with one alone, and
/// from the best of these by one trainer fewer or more as long as that helps.
///
/// Requires, Nothing   as pace_of        Cost   at most 8 plans a trainer
/// Source    DeDLOC, the choice of c in its optimisation problem; there a mixed-integer program.
///           Not the best of all 2ⁿ, but within 3 % of it in tests/peer/planning/advice_test.cpp
std::optional<TrainerChoice> choose_trainers(const TrainingRequest& request);

/// T* with one more member that only reduces. Errors: none, for this one can be dialled.
Duration optimum_with_aggregator(const PlanRequest& request, const LinkSpeed& link);

/// The target batch at which `share` of the time is spent on computing: rounds cost the same
/// whatever the batch, so below it a larger batch is cheaper than more rounds.
/// Requires 0 ≤ share < 1 (DEDLOC_CHECK). Nothing as pace_of.
std::optional<std::uint64_t> batch_for(const TrainingRequest& request, double share);

}  // namespace dedloc::planning
