// The draws of a run's samples that need none of its data: which generator a sample has, and which
// source it is of. So trainers and readers of a ledger agree on the source of every sample.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>

#include "peer/base/digest.hpp"
#include "peer/base/random.hpp"
#include "peer/base/units.hpp"
#include "peer/formats/source_spec.hpp"

namespace dedloc::formats {

/// The random number generator of a peer's samples in one step; sample i draws from split(i) of it.
Random step_random(std::uint64_t run_seed, const PeerKey& peer, StepIndex step);

/// Bit i: source i has something to draw.
using SourceSet = std::bitset<kMaxSources>;

/// Draws a sample's source, with the first number of its generator: one of `present`, with a
/// probability in proportion to their weights; if none of them has a weight, all are equal.
/// Requires   one weight for each source, and at least one that is present (DEDLOC_CHECK)
/// Cost       O(sources)
std::size_t draw_source(Random& random, std::span<const std::uint64_t> weights,
                        const SourceSet& present);

}  // namespace dedloc::formats
