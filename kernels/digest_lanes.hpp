// BLAKE2b over several leaves in parallel, one in each lane of a vector: within a leaf every
// instruction depends on the one before it, but leaves are independent.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/digest.hpp"
#include "kernels/instruction_set.hpp"

namespace dedloc::kernels {

/// Digests of 1 to 8 leaves of 256 KiB each, equal to those of `leaf_digest`.
///
/// Shapes    leaves[i] points to 262,144 bytes; digests[i] is written
/// Requires  as many digests as leaves, 1 to kLeavesTogether; AVX2 or AVX-512      (aborts)
/// Thread    any
/// Cost      8 leaves with AVX-512, or 4 with AVX2, take about as long as 2 calls of leaf_digest
/// Source    RFC 7693 (BLAKE2)
void full_leaf_digests(std::span<const std::byte* const> leaves, std::span<DigestBytes> digests,
                       InstructionSet set);

}  // namespace dedloc::kernels
