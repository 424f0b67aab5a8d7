// One machine that trains with the swarm's batches: what the swarm's result must equal, bit by bit.
#pragma once

#include <vector>

#include "peer/base/digest.hpp"
#include "peer/simulation/checkers.hpp"
#include "peer/simulation/problem.hpp"

namespace dedloc::simulation {

/// Computes every round again from the public samples that its record counts: each member's sum on
/// the state at hand, the weighted mean in member order, the update. Nothing of what the swarm
/// computed is used, only who had which samples, and with fp16 what each owed from before.
///
/// Returns   the digest of the state after each round
/// Requires  rounds of one history, oldest first, from step 0 on (aborts)
/// Cost      that of all samples
std::vector<Digest> train_alone(const Problem& problem, Codec codec,
                                const std::vector<Round>& rounds);

}  // namespace dedloc::simulation
