#include "peer/state/average_tree.hpp"

#include <algorithm>
#include <array>

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
      not_whole_(missing_.size()),
      digests_(missing_.size()) {
    if (elements % kLeafElements != 0) missing_.back() = elements % kLeafElements;
    whole_.reserve(kernels::kLeavesTogether);
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
        whole_.push_back(leaf);
        --not_whole_;
        if (not_whole_ == 0 || whole_.size() == kernels::kLeavesTogether) digest_whole(all);
    }
}

void GrowingTree::digest_whole(std::span<const float> all) {
    std::array<std::span<const std::byte>, kernels::kLeavesTogether> leaves;
    std::array<kernels::DigestBytes, kernels::kLeavesTogether> made;
    for (std::size_t i = 0; i < whole_.size(); ++i) {
        const std::uint64_t begin = whole_[i] * kLeafElements;
        const std::uint64_t count = std::min(kLeafElements, elements_ - begin);
        leaves[i] = std::as_bytes(all.subspan(begin, count));
    }
    kernels::leaf_digests(std::span{leaves}.first(whole_.size()),
                          std::span{made}.first(whole_.size()));
    for (std::size_t i = 0; i < whole_.size(); ++i) digests_[whole_[i]] = made[i];
    whole_.clear();
}

Digest GrowingTree::root() const {
    DEDLOC_CHECK(not_whole_ == 0, "the vector is whole", elements_);
    return Digest{kernels::root_digest(digests_, elements_ * sizeof(float))};
}

}  // namespace dedloc::state
