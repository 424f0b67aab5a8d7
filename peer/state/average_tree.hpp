// The digest tree over an averaged gradient: what CommitRecord::average names, and what the leaves
// of a retained round are checked against.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/digest.hpp"
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

/// average_digest() of a vector that becomes whole piece by piece: eight leaves that are whole cost
/// little more than one, so they are digested together, whenever there is time for it.
class GrowingTree {
  public:
    GrowingTree() = default;
    explicit GrowingTree(std::uint64_t elements);

    /// Elements [first, first + count) of the vector are there, for the first time.
    void add(std::uint64_t first, std::uint64_t count);
    /// Digests eight leaves, if so many are whole and wait. False: they do not.
    /// Requires  `all` is the vector (its missing elements may be anything)
    bool digest_some(std::span<const float> all);
    /// Digests the rest. Requires that every element has been added (DEDLOC_CHECK).
    Digest root(std::span<const float> all);

  private:
    void digest_last(std::span<const float> all, std::size_t count);

    std::uint64_t elements_ = 0;
    std::vector<std::uint64_t> missing_;  ///< by leaf: elements
    std::uint64_t not_whole_ = 0;         ///< leaves
    std::vector<std::uint64_t> whole_;    ///< leaves that wait to be digested
    std::vector<kernels::DigestBytes> digests_;
};

}  // namespace dedloc::state
