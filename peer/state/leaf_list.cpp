// A digest is 32 bytes and nothing else, so a vector of digests is the list's bytes.
#include "peer/state/leaf_list.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/digest.hpp"
#include "peer/base/check.hpp"
#include "peer/state/average_tree.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::state {

static_assert(sizeof(Digest) == wire::kDigestBytes && kernels::kLeafBytes % sizeof(Digest) == 0,
              "a page has whole digests");

std::uint64_t list_bytes(std::uint64_t leaves) {
    return leaves * sizeof(Digest);
}

std::uint64_t page_count(std::uint64_t leaves) {
    return kernels::leaf_count(list_bytes(leaves));
}

LeafList list_of(std::span<const Digest> leaves) {
    DEDLOC_CHECK(!leaves.empty(), "a list has at least one digest");
    LeafList list;
    for (const kernels::DigestBytes& page : kernels::leaf_digests(std::as_bytes(leaves))) {
        list.pages.push_back(Digest{page});
    }
    list.root = list_root(list.pages, leaves.size());
    return list;
}

Digest list_root(std::span<const Digest> pages, std::uint64_t leaves) {
    return tree_root(pages, list_bytes(leaves));
}

Buffer page_of(std::span<const Digest> leaves, std::uint32_t page) {
    const auto bytes = std::as_bytes(leaves);
    if (page >= kernels::leaf_count(bytes.size())) return {};
    const std::size_t first = std::size_t{page} * kernels::kLeafBytes;
    const auto data = bytes.subspan(first, std::min(kernels::kLeafBytes, bytes.size() - first));
    return {data.begin(), data.end()};
}

std::vector<Digest> digests_in(std::span<const std::byte> list) {
    DEDLOC_CHECK(list.size() % sizeof(Digest) == 0, "a list has whole digests", list.size());
    std::vector<Digest> digests(list.size() / sizeof(Digest));
    std::memcpy(digests.data(), list.data(), list.size());
    return digests;
}

}  // namespace dedloc::state
