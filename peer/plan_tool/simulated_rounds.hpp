// Runs rounds of a fleet with the real protocol in the seeded world of peer/simulation.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "peer/planning/planner.hpp"
#include "peer/simulation/tcp_flow.hpp"

namespace dedloc::plan {

/// Parameters of a simulation.
struct SimulationOptions {
    std::uint64_t seed = 1;                            ///< seed of the world
    std::uint32_t rounds = 1;                          ///< rounds after the first one
    Duration latency = std::chrono::milliseconds{20};  ///< one way, between two members
    simulation::TcpOptions tcp{};  ///< the real network's; its packets are scaled down as well
};

/// Times from the freeze of the last contribution.
struct SimulatedRound {
    Duration planned{0};    ///< until the plan is sent
    Duration moved{0};      ///< until every receiver has the whole average
    Duration committed{0};  ///< until all members hold the next state
};

/// The simulated fleet and its rounds.
struct SimulatedRounds {
    planning::PlanRequest request;       ///< the scaled fleet; the backbone is the first member
    planning::SharePlan plan;            ///< the plan that the peers follow
    std::vector<SimulatedRound> rounds;  ///< fewer than asked for if the swarm made no progress
};

/// Simulates rounds of the fleet with fp32 frames: the vector has as many elements as give the
/// larger of the two encodings. Vector and bandwidths are scaled down together, so that times do
/// not change and all hosts together need at most 2.5 GB or so. The swarm's backbone is the first
/// aggregator that can be dialled, else one more member with the fastest link; it receives
/// averages. Peers are given their bandwidths and do not measure them, so they follow the plan in
/// the result.
///
/// Requires  at least one contributor (DEDLOC_CHECK)
SimulatedRounds simulate_rounds(const planning::PlanRequest& fleet,
                                const SimulationOptions& options);

}  // namespace dedloc::plan
