#include "peer/state/average_tree.hpp"

#include "kernels/digest.hpp"

namespace dedloc::state {

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

}  // namespace dedloc::state
