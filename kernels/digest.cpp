// Leaves are divided into groups of eight, which are the tasks of the workers. The full leaves of a
// group are digested together in vector lanes if the processor has them and there are at least two;
// short leaves, and all others, go through libsodium. Both give equal digests, so the choice is
// only one of speed. The root is digested on the calling thread, with the length of the array
// first.
#include "kernels/digest.hpp"

#include <sodium.h>

#include <algorithm>
#include <string_view>

#include "kernels/check.hpp"
#include "kernels/digest_lanes.hpp"

namespace dedloc::kernels {
namespace {

using Personal = std::array<unsigned char, crypto_generichash_blake2b_PERSONALBYTES>;

unsigned char* raw(std::byte* p) {
    return reinterpret_cast<unsigned char*>(p);
}
const unsigned char* raw(const std::byte* p) {
    return reinterpret_cast<const unsigned char*>(p);
}

Personal personal(std::string_view name) {
    Personal bytes{};
    std::copy(name.begin(), name.end(), bytes.begin());
    return bytes;
}

/// Also lets libsodium choose its fastest BLAKE2b for this processor. Idempotent.
void initialise_sodium() {
    DEDLOC_KERNEL_REQUIRE(sodium_init() >= 0, "libsodium could not find a source of randomness");
}

/// Digests at most kLeavesTogether leaves; full ones in parallel if that is faster.
void digest_group(std::span<const std::span<const std::byte>> leaves,
                  std::span<DigestBytes> digests, InstructionSet set) {
    std::array<const std::byte*, kLeavesTogether> full;
    std::array<std::size_t, kLeavesTogether> places;
    std::size_t count = 0;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        if (leaves[i].size() != kLeafBytes) {
            digests[i] = leaf_digest(leaves[i]);
            continue;
        }
        full[count] = leaves[i].data();
        places[count++] = i;
    }
    std::array<DigestBytes, kLeavesTogether> made;
    if (set == InstructionSet::kBaseline || count == 1) {
        for (std::size_t i = 0; i < count; ++i) made[i] = leaf_digest({full[i], kLeafBytes});
    } else if (count > 1) {
        full_leaf_digests(std::span{full}.first(count), std::span{made}.first(count), set);
    }
    for (std::size_t i = 0; i < count; ++i) digests[places[i]] = made[i];
}

}  // namespace

DigestBytes leaf_digest(std::span<const std::byte> leaf) {
    DEDLOC_KERNEL_REQUIRE(!leaf.empty() && leaf.size() <= kLeafBytes,
                          "a leaf holds 1 to 262,144 bytes", static_cast<double>(leaf.size()));
    initialise_sodium();
    static const Personal kLeaf = personal("dedloc.leaf");
    DigestBytes digest;
    crypto_generichash_blake2b_salt_personal(raw(digest.data()), digest.size(), raw(leaf.data()),
                                             leaf.size(), nullptr, 0, nullptr, kLeaf.data());
    return digest;
}

void leaf_digests(std::span<const std::span<const std::byte>> leaves,
                  std::span<DigestBytes> digests, const Workers& workers) {
    DEDLOC_KERNEL_REQUIRE(leaves.size() == digests.size(), "as many digests as leaves are wanted",
                          static_cast<double>(leaves.size()), static_cast<double>(digests.size()));
    const std::size_t groups = (leaves.size() + kLeavesTogether - 1) / kLeavesTogether;
    workers.run(groups, [&](std::size_t group) {
        const std::size_t first = group * kLeavesTogether;
        const std::size_t count = std::min(kLeavesTogether, leaves.size() - first);
        digest_group(leaves.subspan(first, count), digests.subspan(first, count),
                     workers.instruction_set());
    });
}

std::vector<DigestBytes> leaf_digests(std::span<const std::byte> bytes, const Workers& workers) {
    std::vector<std::span<const std::byte>> leaves(
        static_cast<std::size_t>(leaf_count(bytes.size())));
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        const std::size_t first = i * kLeafBytes;
        leaves[i] = bytes.subspan(first, std::min(kLeafBytes, bytes.size() - first));
    }
    std::vector<DigestBytes> digests(leaves.size());
    leaf_digests(leaves, digests, workers);
    return digests;
}

DigestBytes root_digest(std::span<const DigestBytes> leaves, std::uint64_t total_bytes) {
    DEDLOC_KERNEL_REQUIRE(leaves.size() == leaf_count(total_bytes),
                          "the number of leaves does not fit the length of the array",
                          static_cast<double>(leaves.size()), static_cast<double>(total_bytes));
    initialise_sodium();
    static const Personal kRoot = personal("dedloc.root");
    std::array<unsigned char, 8> length;
    for (std::size_t i = 0; i < length.size(); ++i) {
        length[i] = static_cast<unsigned char>(total_bytes >> (8 * i) & 0xff);
    }
    DigestBytes digest;
    crypto_generichash_blake2b_state state;
    crypto_generichash_blake2b_init_salt_personal(&state, nullptr, 0, digest.size(), nullptr,
                                                  kRoot.data());
    crypto_generichash_blake2b_update(&state, length.data(), length.size());
    for (const DigestBytes& leaf : leaves) {
        crypto_generichash_blake2b_update(&state, raw(leaf.data()), leaf.size());
    }
    crypto_generichash_blake2b_final(&state, raw(digest.data()), digest.size());
    return digest;
}

DigestBytes tree_digest(std::span<const std::byte> bytes, const Workers& workers) {
    return root_digest(leaf_digests(bytes, workers), bytes.size());
}

}  // namespace dedloc::kernels
