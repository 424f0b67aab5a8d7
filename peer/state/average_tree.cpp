// Wraps kernels/digest.hpp for vectors of floats. GrowingTree counts the missing elements of each
// leaf; a leaf whose count reaches 0 goes onto a stack. Leaves are digested from the top of that
// stack, eight at a time, while they are likely to be in the processor's caches; the order does not
// matter, as the root is computed from the leaves in vector order.
#include "peer/state/average_tree.hpp"

#include <algorithm>

#include "kernels/digest.hpp"
#include "peer/base/check.hpp"

namespace dedloc::state {

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
}

void GrowingTree::add(std::uint64_t first, std::uint64_t count) {
    DEDLOC_CHECK(first + count <= elements_, "a piece lies within the vector", first, count);
    const std::uint64_t last = first + count;
    for (std::uint64_t leaf = first / kLeafElements; leaf * kLeafElements < last; ++leaf) {
        const std::uint64_t begin = leaf * kLeafElements;
        const std::uint64_t end = std::min(begin + kLeafElements, elements_);
        missing_[leaf] -= std::min(last, end) - std::max(first, begin);
        if (missing_[leaf] > 0) continue;
        whole_.push_back(leaf);
        --not_whole_;
    }
}

bool GrowingTree::digest_some(std::span<const float> all) {
    if (whole_.size() < kernels::kLeavesTogether) return false;
    digest_last(all, kernels::kLeavesTogether, kernels::ThisThread{});
    return true;
}

/// Digests the `count` leaves that were completed last, as they are most likely still cached.
void GrowingTree::digest_last(std::span<const float> all, std::size_t count,
                              const kernels::Workers& workers) {
    DEDLOC_CHECK(all.size() == elements_, "the caller passes the whole vector", all.size());
    std::vector<std::span<const std::byte>> leaves(count);
    std::vector<kernels::DigestBytes> made(count);
    const auto due = std::span{whole_}.last(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t begin = due[i] * kLeafElements;
        const std::uint64_t size = std::min<std::uint64_t>(kLeafElements, elements_ - begin);
        leaves[i] = std::as_bytes(all.subspan(begin, size));
        digested_ += size;
    }
    kernels::leaf_digests(leaves, made, workers);
    for (std::size_t i = 0; i < count; ++i) digests_[due[i]] = made[i];
    whole_.resize(whole_.size() - count);
}

Digest GrowingTree::root(std::span<const float> all, const kernels::Workers& workers) {
    DEDLOC_CHECK(not_whole_ == 0, "every element of the vector has been added", elements_);
    digest_last(all, whole_.size(), workers);
    return Digest{kernels::root_digest(digests_, elements_ * sizeof(float))};
}

}  // namespace dedloc::state
