#include "peer/state/average_tree.hpp"

#include <algorithm>

#include "kernels/digest.hpp"
#include "peer/base/check.hpp"

namespace dedloc::state {
namespace {

constexpr std::uint64_t kLeafElements = kernels::kLeafBytes / sizeof(float);

}  // namespace

Digest average_digest(std::span<const float> average, const kernels::Workers& workers) {
    return Digest{kernels::tree_digest(std::as_bytes(average), workers)};
}

std::vector<Digest> average_leaves(std::span<const float> average,
                                   const kernels::Workers& workers) {
    std::vector<Digest> leaves;
    for (const kernels::DigestBytes& leaf :
         kernels::leaf_digests(std::as_bytes(average), workers)) {
        leaves.push_back(Digest{leaf});
    }
    return leaves;
}

Digest tree_root(std::span<const Digest> leaves, std::uint64_t total_bytes) {
    std::vector<kernels::DigestBytes> raw;
    raw.reserve(leaves.size());
    for (const Digest& leaf : leaves) raw.push_back(leaf.bytes);
    return Digest{kernels::root_digest(raw, total_bytes)};
}

Digest leaf_digest(std::span<const std::byte> leaf) {
    return Digest{kernels::leaf_digest(leaf)};
}

GrowingTree::GrowingTree(std::uint64_t elements)
    : elements_(elements),
      missing_((elements + kLeafElements - 1) / kLeafElements, kLeafElements),
      leaves_(missing_.size()) {
    if (elements % kLeafElements != 0) missing_.back() = elements % kLeafElements;
}

void GrowingTree::add(std::span<const float> all, std::uint64_t first, std::uint64_t count) {
    DEDLOC_CHECK(all.size() == elements_ && first + count <= elements_, "a piece of the vector",
                 first, count);
    const std::uint64_t last = first + count;
    for (std::uint64_t leaf = first / kLeafElements; leaf * kLeafElements < last; ++leaf) {
        const std::uint64_t begin = leaf * kLeafElements;
        const std::uint64_t end = std::min(begin + kLeafElements, elements_);
        missing_[leaf] -= std::min(last, end) - std::max(first, begin);
        if (missing_[leaf] > 0) continue;
        leaves_[leaf] = leaf_digest(std::as_bytes(all.subspan(begin, end - begin)));
    }
}

Digest GrowingTree::root() const {
    const auto is_whole = [](std::uint64_t missing) { return missing == 0; };
    DEDLOC_CHECK(std::ranges::all_of(missing_, is_whole), "the vector is whole", elements_);
    return tree_root(leaves_, elements_ * sizeof(float));
}

}  // namespace dedloc::state
