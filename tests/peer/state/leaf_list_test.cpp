#include "peer/state/leaf_list.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "kernels/digest.hpp"
#include "peer/state/model_state.hpp"
#include "peer/wire/message.hpp"
#include "tests/peer/state/transfer_world.hpp"

namespace {

using namespace dedloc;
using namespace dedloc::test;

std::vector<Digest> some_digests(std::size_t count) {
    std::vector<Digest> digests(count);
    Random random{3};
    for (Digest& digest : digests) {
        for (std::byte& byte : digest.bytes) byte = static_cast<std::byte>(random.below(256));
    }
    return digests;
}

/// Three donors of a state of 60 leaves, whose digests do not fit their offers.
TransferWorld listed_world(std::uint64_t seed) {
    return TransferWorld{20 * kLeafElements, seed};
}

}  // namespace

TEST_CASE("the list of the largest state's leaves has 24 pages", "[state]") {
    const auto leaves = some_digests(wire::kMaxLeaves);
    CHECK(leaves.size() == 196'608);
    CHECK(state::list_bytes(leaves.size()) == 6 << 20);
    const state::LeafList list = state::list_of(leaves);
    CHECK(list.pages.size() == 24);
    CHECK(list.pages.size() == state::page_count(leaves.size()));
    CHECK(list.root == state::list_root(list.pages, leaves.size()));
    Buffer all;
    for (std::uint32_t page = 0; page < list.pages.size(); ++page) {
        const Buffer bytes = state::page_of(leaves, page);
        CHECK(bytes.size() == wire::kLeafBytes);
        CHECK(Digest{kernels::leaf_digest(bytes)} == list.pages[page]);
        all.insert(all.end(), bytes.begin(), bytes.end());
    }
    CHECK(state::page_of(leaves, 24).empty());
    CHECK(state::digests_in(all) == leaves);
}

TEST_CASE("lists of other lengths have a shorter last page", "[state]") {
    for (const std::size_t count : {1u, 2u, 8'191u, 8'192u, 8'193u, 24'577u}) {
        const auto leaves = some_digests(count);
        const state::LeafList list = state::list_of(leaves);
        CHECK(list.pages.size() == (count + 8'191) / 8'192);
        const auto last = static_cast<std::uint32_t>(list.pages.size() - 1);
        const Buffer bytes = state::page_of(leaves, last);
        CHECK(bytes.size() == 32 * (count - std::size_t{last} * 8'192));
        CHECK(Digest{kernels::leaf_digest(bytes)} == list.pages[last]);
    }
}

TEST_CASE("a state whose leaf digests do not fit an offer comes from all donors", "[state]") {
    TransferWorld world = listed_world(1);
    world.offered_leaves = GENERATE(59u, 60u);
    const bool is_listed = world.offered_leaves < 60;
    for (int i = 0; i < 3; ++i) world.add_member(k5);
    std::size_t offered = 0;
    for (const auto& member : world.members) {
        member->twist = [&](wire::Body& body) {
            if (const auto* offer = std::get_if<wire::StateOffer>(&body)) {
                offered = offer->leaves.size();
            }
        };
    }
    world.aim_at(k5);
    REQUIRE(world.run_until_current(10s));
    CHECK(offered == (is_listed ? 1 : 60));
    CHECK(*world.own_bytes == *world.history.state(k5));
    for (const auto& member : world.members) CHECK(member->leaves_sent >= 17);
    CHECK(world.loads.size() == 1);
    CHECK(world.notes.empty());
    // The list is one page, and a donor of three is asked for it by chance.
    CHECK(world.leaf_bytes <= 62 * wire::kLeafBytes + 60 * 32);
}

TEST_CASE("rounds whose leaf digests do not fit an offer are fetched", "[state]") {
    TransferWorld world = listed_world(2);
    world.offered_leaves = 3;
    for (int i = 0; i < 3; ++i) world.add_member(k5);
    world.start_at(StepIndex{3});
    world.aim_at(k5);
    REQUIRE(world.run_until_current(10s));
    CHECK(world.rounds == std::vector<StepIndex>{StepIndex{3}, StepIndex{4}});
    CHECK(world.loads.empty());
    CHECK(world.notes.empty());
}

TEST_CASE("a donor with a wrong list costs one list and is not asked again", "[state]") {
    const bool is_round = GENERATE(false, true);
    TransferWorld world = listed_world(3);
    world.offered_leaves = 3;
    Member& liar = world.add_member(k5);
    auto wrong = world.history.snapshot(k5).leaves;
    if (is_round) wrong.resize(20);
    wrong[7].bytes[0] ^= std::byte{1};
    const state::LeafList list = state::list_of(wrong);
    liar.twist = [&](wire::Body& body) {
        if (auto* offer = std::get_if<wire::StateOffer>(&body)) offer->leaves = list.pages;
        if (auto* offer = std::get_if<wire::RoundOffer>(&body)) offer->leaves = list.pages;
    };
    liar.tamper = [&](wire::Leaf& leaf) {
        if (leaf.root == list.root) leaf.data = state::page_of(wrong, leaf.leaf);
    };
    if (is_round) world.start_at(StepIndex{4});
    world.aim_at(k5);
    CHECK_FALSE(world.run_until_current(3s));
    CHECK(world.has_note(liar.key.brief() + " offers leaf digests of step " +
                         (is_round ? "4" : "5") + " that are not those of the decided"));
    CHECK(liar.requests == 1);
    CHECK(world.loads.empty());
    world.add_member(k5);
    REQUIRE(world.run_until_current(20s));
    CHECK(liar.requests == 1);
}

TEST_CASE("a page that is not the offered one, or none, costs the donor its place", "[state]") {
    TransferWorld world = listed_world(4);
    world.offered_leaves = 3;
    Member& liar = world.add_member(k5);
    const auto root = state::list_of(world.history.snapshot(k5).leaves).root;
    SECTION("wrong bytes") {
        liar.tamper = [root](wire::Leaf& leaf) {
            if (leaf.root == root) leaf.data[5] ^= std::byte{1};
        };
    }
    SECTION("another size") {
        liar.tamper = [root](wire::Leaf& leaf) {
            if (leaf.root == root) leaf.data.resize(31);
        };
    }
    SECTION("no page") {
        liar.tamper = [root](wire::Leaf& leaf) {
            if (leaf.root == root) leaf.data.clear();
        };
    }
    world.aim_at(k5);
    CHECK_FALSE(world.run_until_current(3s));
    CHECK(world.loads.empty());
    world.add_member(k5);
    REQUIRE(world.run_until_current(20s));
    CHECK(*world.own_bytes == *world.history.state(k5));
}

TEST_CASE("a list is fetched although its donor falls silent or dies", "[state]") {
    const bool dies = GENERATE(false, true);
    for (std::uint64_t point = 1; point < 4; ++point) {
        INFO("after " << point << " messages, dies " << dies);
        TransferWorld world = listed_world(5 + point);
        world.offered_leaves = 3;
        Member& donor = world.add_member(k5);
        donor.messages_left = point;
        if (!dies) {
            donor.messages_left.reset();
            donor.tamper = [&, left = point](wire::Leaf&) mutable {
                if (--left == 0) donor.is_mute = true;
            };
        }
        world.later(1s, [&] { world.add_member(k5); });
        world.aim_at(k5);
        REQUIRE(world.run_until_current(30s));
        CHECK(*world.own_bytes == *world.history.state(k5));
    }
}
