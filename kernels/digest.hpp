// A digest of a large array as a tree of two levels: a receiver can check every 256 KiB on arrival,
// and leaves can be computed in parallel.
//
//   leaf = BLAKE2b-256(bytes of the leaf, personal "dedloc.leaf")
//   root = BLAKE2b-256(length of the array as 8 little-endian bytes ‖ leaves in order, personal
//   "dedloc.root")
//
// Every leaf but the last covers 256 KiB; an empty array has no leaf.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/workers.hpp"

namespace dedloc::kernels {

using DigestBytes = std::array<std::byte, 32>;
/// Bytes that a leaf covers.
inline constexpr std::size_t kLeafBytes = 256 * 1024;
/// Leaves that are digested in parallel at most; leaf_digests is fastest for a multiple of this.
inline constexpr std::size_t kLeavesTogether = 8;

/// Number of leaves of an array.
constexpr std::uint64_t leaf_count(std::uint64_t total_bytes) {
    return total_bytes / kLeafBytes + (total_bytes % kLeafBytes != 0 ? 1 : 0);
}

/// The digest of one leaf.
///
/// Requires  1 byte to 256 KiB      (aborts)      Thread  any      Cost  reads every byte once
DigestBytes leaf_digest(std::span<const std::byte> leaf);

/// Digests of leaves at any addresses: with AVX2 four and with AVX-512 eight full ones at a time.
///
/// Shapes    digests[i] is the digest of leaves[i]
/// Requires  as many digests as leaves; each 1 to 256 KiB      (aborts)
void leaf_digests(std::span<const std::span<const std::byte>> leaves,
                  std::span<DigestBytes> digests, const Workers& workers = ThisThread{});
/// The digests of all leaves of an array, in order.
std::vector<DigestBytes> leaf_digests(std::span<const std::byte> bytes,
                                      const Workers& workers = ThisThread{});

/// The root from the digests of all leaves.
///
/// Requires  leaves.size() = leaf_count(total_bytes)      (aborts)
DigestBytes root_digest(std::span<const DigestBytes> leaves, std::uint64_t total_bytes);

/// Root of the tree over `bytes`.
DigestBytes tree_digest(std::span<const std::byte> bytes, const Workers& workers = ThisThread{});

}  // namespace dedloc::kernels
