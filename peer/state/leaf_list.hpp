// The leaf digests of an array that has too many of them for one offer. They are an array of bytes
// themselves, with a digest tree of its own: its leaves, the pages, have 8,192 digests each. An
// offer of the large array has the digests of the pages, and a peer fetches the pages as it fetches
// any other leaves, by the root of the list. A state of 48 GiB has 196,608 leaves, a list of 6 MiB
// and 24 pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"

namespace dedloc::state {

/// The digest tree over a list of leaf digests.
struct LeafList {
    Digest root;                ///< names the list in each LeafRequest
    std::vector<Digest> pages;  ///< the digest of each page, in order
};

/// Bytes of a list of so many digests.
std::uint64_t list_bytes(std::uint64_t leaves);
/// Number of its pages.
std::uint64_t page_count(std::uint64_t leaves);

/// The tree over the list of these digests. Requires at least one (aborts).
/// Cost  reads 32 bytes a leaf
LeafList list_of(std::span<const Digest> leaves);
/// The root of a list of `leaves` digests from the digests of its pages. Requires as many pages as
/// such a list has (aborts).
Digest list_root(std::span<const Digest> pages, std::uint64_t leaves);
/// The bytes of one page; empty: there is no such page.
Buffer page_of(std::span<const Digest> leaves, std::uint32_t page);
/// The digests in the bytes of a whole list.
std::vector<Digest> digests_in(std::span<const std::byte> list);

}  // namespace dedloc::state
