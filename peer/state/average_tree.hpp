// The digest tree over an averaged gradient. CommitRecord::average is its root, and the leaves of a
// fetched round are checked against it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/digest.hpp"
#include "kernels/workers.hpp"
#include "peer/base/digest.hpp"

namespace dedloc::state {

/// Elements of a leaf; the last one may have fewer.
inline constexpr std::size_t kLeafElements = kernels::kLeafBytes / sizeof(float);

/// Digests of the leaves of the tree over the average's bytes (kernels/digest.hpp), in order: leaf
/// i covers elements [65,536 i, 65,536 (i + 1)).
std::vector<Digest> average_leaves(std::span<const float> average,
                                   const kernels::Workers& workers = kernels::ThisThread{});

/// Root of a tree from its leaves' digests. Requires as many leaves as an array of `total_bytes`
/// has (aborts).
Digest tree_root(std::span<const Digest> leaves, std::uint64_t total_bytes);
/// Digest of one leaf. Requires 1 to 256 KiB (aborts).
Digest leaf_digest(std::span<const std::byte> leaf);

/// Computes the root of the tree over a vector that arrives piece by piece. Digesting eight leaves
/// together costs little more than one (SIMD), so complete leaves are collected until there are
/// eight and the caller has time.
class GrowingTree {
  public:
    /// A tree over an empty vector.
    GrowingTree() = default;
    /// A tree over a vector of `elements` floats, none of which has arrived.
    explicit GrowingTree(std::uint64_t elements);

    /// Elements [first, first + count) have arrived. Requires that each element is added once.
    void add(std::uint64_t first, std::uint64_t count);
    /// Digests eight complete leaves. Returns false, and does nothing, if fewer are waiting.
    /// Requires  `all` is the whole vector; elements that have not arrived may have any value
    bool digest_some(std::span<const float> all);
    /// Elements of the leaves that are digested.
    std::uint64_t digested() const { return digested_; }
    /// Digests the remaining leaves, on these threads, and returns the root. Requires that every
    /// element has been added (DEDLOC_CHECK).
    Digest root(std::span<const float> all,
                const kernels::Workers& workers = kernels::ThisThread{});

  private:
    void digest_last(std::span<const float> all, std::size_t count,
                     const kernels::Workers& workers);

    std::uint64_t elements_ = 0;
    std::uint64_t digested_ = 0;
    std::vector<std::uint64_t> missing_;         ///< elements of each leaf that have not arrived
    std::uint64_t not_whole_ = 0;                ///< number of incomplete leaves
    std::vector<std::uint64_t> whole_;           ///< complete leaves that are not digested yet
    std::vector<kernels::DigestBytes> digests_;  ///< digest of each leaf
};

}  // namespace dedloc::state
