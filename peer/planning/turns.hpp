// Which trainers take part in which rounds, so that the swarm computes the most samples per second.
// The coordinator asks this between two rounds (round/turns.hpp), dedloc-plan asks it for a
// fleet. A model, not part of a record: peers need not compute the same bits.
//
// Model     In a step, trainers compute until the target batch is reached, members finish their
//           micro-batches (the wait), and the round takes T*. Without overlap the three follow one
//           another; with overlap the computing goes on meanwhile.
// Links     A slow link prolongs T* of the rounds that it is in. Every k-th round with it costs a
//           k-th of that, if its download keeps up with the averages between.
// Computing A trainer with long micro-batches makes the others wait. If it is only called once it
//           holds a micro-batch, there is no wait, and its samples are a few steps old.
// Staleness Samples count up to wire::kMaxStaleSteps steps after the state that they were computed
//           on. A trainer that cannot keep that only reduces if that makes the round shorter, or
//           rests.
//
// Source    DeDLOC, the choice of c in its optimisation problem: maximise min(Σ s c / B, 1 / T).
//           There c is 0 or 1 for all rounds, solved as a mixed-integer program; here a local
//           search, and a slow trainer may take part in some rounds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "peer/planning/request.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::planning {

/// A fleet whose trainers are to be chosen.
struct FleetRequest {
    /// All members as if each trainer were in every round. Trainers are those that contribute.
    PlanRequest round;
    std::vector<double> samples_per_second;   ///< in member order; counts for trainers only
    std::vector<double> micro_batch_seconds;  ///< in member order; 0: short, or not known
    std::uint64_t target_batch = 0;           ///< samples of a round
    bool overlaps = false;                    ///< trainers compute while a round is on its way
};

/// How one member takes part.
struct Turn {
    TurnKind kind = TurnKind::kEveryRound;  ///< what it does
    std::uint32_t every = 1;  ///< kSomeRounds: one round of this many; kWhenDone: about one
    bool operator==(const Turn&) const = default;
};

/// What the model says of some turns.
struct Prediction {
    double samples_per_second = 0;  ///< the whole swarm's
    double step_seconds = 0;        ///< mean duration of a step
    double round_seconds = 0;       ///< mean T* and two latencies
    double wait_seconds = 0;        ///< for micro-batches of members
};

/// The chosen turns.
struct TurnChoice {
    std::vector<Turn> turns;  ///< in member order; members that do not compute: kEveryRound
    Prediction chosen;        ///< what these turns lead to
    Prediction all;           ///< every trainer is in every round
};

/// The prediction for these turns, in member order.
/// Requires  one number for each member in all lists, a target batch ≥ 1 (DEDLOC_CHECK)
/// Nothing   if no trainer computes or no member can be dialled
/// Cost      one or two plans
std::optional<Prediction> predict(const FleetRequest& request, const std::vector<Turn>& turns);

/// The turns with the most samples per second that the search finds. Candidates leave out the k
/// trainers with the slowest links, by their own traffic and by traffic per sample, and of the
/// others the l with the longest micro-batches are called when they are done. Only trainers that
/// are twice as slow as the median, in link or micro-batch, are out of any round, so a fleet of
/// equals never trades fresh samples for speed.
///
/// Requires, Nothing   as predict        Cost   at most 2 × 24 plans
std::optional<TurnChoice> choose_turns(const FleetRequest& request);

}  // namespace dedloc::planning
