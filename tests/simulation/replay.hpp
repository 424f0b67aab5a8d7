// The reference result: one machine trains with the swarm's batches, and the swarm's states must
// equal its states bit by bit.
#pragma once

#include <vector>

#include "peer/base/digest.hpp"
#include "peer/simulation/problem.hpp"
#include "tests/simulation/checkers.hpp"

namespace dedloc::simulation {

/// Recomputes every round from the samples that its record counts: each member's sum on the present
/// state (with overlap first those samples that were computed on the state before), the weighted
/// mean in member order, the update. The swarm's sums and averages are not used, only the
/// assignment of samples to members and each member's rounding residual (none with fp32).
///
/// Returns   the digest of the state after each round
/// Requires  rounds of one history, oldest first, from step 0 on (aborts)
/// Cost      one gradient per counted sample
std::vector<Digest> train_alone(const Problem& problem, Codec codec,
                                const std::vector<Round>& rounds);

}  // namespace dedloc::simulation
