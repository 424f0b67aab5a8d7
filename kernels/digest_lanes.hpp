// BLAKE2b over several leaves side by side, one in each lane of a vector: every instruction of a
// leaf waits for the one before it, but leaves do not wait for each other.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/digest.hpp"
#include "kernels/instruction_set.hpp"

namespace dedloc::kernels {

/// Digests of 1 to 8 leaves of 256 KiB each, the same bytes as `leaf_digest` makes one by one.
///
/// Shapes    leaves[i] points to 262,144 bytes; digests[i] is written
/// Requires  as many digests as leaves, 1 to kLeavesTogether; AVX2 or AVX-512      (aborts)
/// Thread    any
/// Cost      AVX-512: 8 leaves take about as long as 2 one by one, AVX2: 4 as long as 2
/// Source    RFC 7693 (BLAKE2)
void full_leaf_digests(std::span<const std::byte* const> leaves, std::span<DigestBytes> digests,
                       InstructionSet set);

}  // namespace dedloc::kernels
