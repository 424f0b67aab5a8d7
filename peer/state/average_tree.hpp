// The digest tree over an averaged gradient: what CommitRecord::average names, and what the leaves
// of a retained round are checked against.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/workers.hpp"
#include "peer/base/digest.hpp"

namespace dedloc::state {

/// Root of the tree over the average's bytes (kernels/digest.hpp). Cost: reads 4 N bytes.
Digest average_digest(std::span<const float> average,
                      const kernels::Workers& workers = kernels::ThisThread{});
/// The digests of its leaves, in order: leaf i covers elements [65,536 i, 65,536 (i + 1)).
std::vector<Digest> average_leaves(std::span<const float> average,
                                   const kernels::Workers& workers = kernels::ThisThread{});

/// Root of a tree from its leaves. Requires as many leaves as total_bytes has (aborts).
Digest tree_root(std::span<const Digest> leaves, std::uint64_t total_bytes);
/// Digest of one leaf. Requires 1 to 256 KiB (aborts).
Digest leaf_digest(std::span<const std::byte> leaf);

}  // namespace dedloc::state
