#include "kernels/digest.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <string>

#include "peer/base/bytes.hpp"
#include "tests/kernels/aborts.hpp"
#include "tests/kernels/every_worker.hpp"

using namespace dedloc;
using namespace dedloc::kernels;

namespace {

std::vector<std::byte> pattern(std::size_t count) {
    std::vector<std::byte> bytes(count);
    for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 % 251);
    return bytes;
}

std::string tree_hex(std::size_t count) {
    return to_hex(tree_digest(pattern(count)));
}

}  // namespace

// Expected values: Python's hashlib.blake2b, by the rule in digest.hpp.
TEST_CASE("the tree digest equals that of another BLAKE2b implementation", "[kernels]") {
    CHECK(tree_hex(0) == "437ef5bde7366f41b847882d05a8f3afc43aa344d686a50709174b3775d9de23");
    CHECK(tree_hex(1) == "7ae8a32ea1eca996318493990456478e523c3d534364cc8c4788731d41f87688");
    CHECK(tree_hex(kLeafBytes) ==
          "88f0716cca8e5e8755986c7ca5f135e3c459d3cd280cc13138055b88b64bb1b0");
    CHECK(tree_hex(kLeafBytes + 1) ==
          "ab5d17cb892b702c3ab931f033e66bfd6f8caa21305d14a8255418ab6a96779a");
    CHECK(tree_hex(3 * kLeafBytes + 1000) ==
          "591d22471eb0d79185e4e82895b591b86ae3874620b995fddc0a735b3a1d70f8");
}

TEST_CASE("a root follows from its leaves alone", "[kernels]") {
    const auto bytes = pattern(2 * kLeafBytes + 17);
    const auto leaves = leaf_digests(bytes);
    REQUIRE(leaves.size() == 3);
    CHECK(leaves[2] == leaf_digest(std::span{bytes}.last(17)));
    CHECK(root_digest(leaves, bytes.size()) == tree_digest(bytes));
    CHECK(root_digest(leaves, bytes.size() - 1) != tree_digest(bytes));
}

TEST_CASE("leaves digested in parallel have the same digests as alone", "[kernels]") {
    // Different bytes in every leaf, from an odd address; 1 to 19 leaves, full ones and others.
    auto bytes = pattern(19 * kLeafBytes + 1);
    for (std::size_t i = 0; i < bytes.size(); i += 4099) bytes[i] = static_cast<std::byte>(i >> 17);
    std::vector<DigestBytes> alone;
    std::vector<std::span<const std::byte>> leaves;
    for (std::size_t i = 0; i < 19; ++i) {
        const std::size_t count = i % 6 == 4 ? 4096 + i : kLeafBytes;
        leaves.push_back(std::span{bytes}.subspan(1 + i * kLeafBytes, count));
        alone.push_back(leaf_digest(leaves.back()));
    }
    tests::with_every_worker({1, 3}, [&](const Workers& workers) {
        INFO(name_of(workers.instruction_set()));
        for (std::size_t count = 0; count <= leaves.size(); ++count) {
            std::vector<DigestBytes> digests(count);
            leaf_digests(std::span{leaves}.first(count), digests, workers);
            CHECK(std::equal(digests.begin(), digests.end(), alone.begin()));
        }
    });
}

TEST_CASE("any flipped bit changes the tree digest", "[kernels]") {
    auto bytes = pattern(kLeafBytes + 300);
    const auto before = tree_digest(bytes);
    for (const std::size_t place : {std::size_t{0}, kLeafBytes - 1, kLeafBytes, kLeafBytes + 299}) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            bytes[place] ^= std::byte{1} << bit;
            CHECK(tree_digest(bytes) != before);
            bytes[place] ^= std::byte{1} << bit;
        }
    }
    CHECK(tree_digest(bytes) == before);
}

TEST_CASE("a digest refuses misuse in one sentence", "[kernels]") {
    CHECK(tests::abort_message([] { leaf_digest({}); }).find("a leaf holds") != std::string::npos);
    CHECK(tests::abort_message([] { leaf_digest(pattern(kLeafBytes + 1)); }).find("a leaf holds") !=
          std::string::npos);
    CHECK(tests::abort_message([] {
              const std::array<std::span<const std::byte>, 2> leaves{};
              DigestBytes one;
              leaf_digests(leaves, {&one, 1});
          }).find("as many digests as leaves") != std::string::npos);
    CHECK(tests::abort_message([] { root_digest({}, 5); }).find("number of leaves") !=
          std::string::npos);
}
