// Rounds of a fleet as the protocol plays them, in the seeded world of peer/simulation.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "peer/planning/planner.hpp"

namespace dedloc::plan {

struct SimulationOptions {
    std::uint64_t seed = 1;
    std::uint32_t rounds = 1;
    Duration latency = std::chrono::milliseconds{20};  ///< of a message between two members
};

/// From the last contribution's freeze …
struct SimulatedRound {
    Duration planned{0};    ///< … until the plan is sent,
    Duration moved{0};      ///< … until every receiver has the whole average,
    Duration committed{0};  ///< … until all members hold the next state
};

struct SimulatedRounds {
    /// What was played: see simulate_rounds. The backbone is the first member.
    planning::PlanRequest request;
    planning::SharePlan plan;
    std::vector<SimulatedRound> rounds;  ///< fewer than asked for if the swarm got stuck
};

/// Plays rounds of the fleet over fp32 frames: the vector has as many elements as make the larger
/// of the encodings. Vector and bandwidths are scaled down together, so that times stay and all
/// hosts need some 2.5 GB at most. A swarm has a backbone: the first aggregator that can be
/// dialled, else one more member with the link of the fastest. It receives averages. Peers are told
/// their bandwidths and do not measure them: the plan they follow is the one in the result.
///
/// Requires  somebody contributes (DEDLOC_CHECK)
SimulatedRounds simulate_rounds(const planning::PlanRequest& fleet,
                                const SimulationOptions& options);

}  // namespace dedloc::plan
