#include <catch2/catch.hpp>
#include <cstdint>

#include "tests/peer/state/donor_desk.hpp"

using namespace dedloc;
using namespace dedloc::test;

namespace {

/// Requests the leaves of this root in turn until none comes; returns how many came. The desk's
/// array has `count` leaves.
std::uint64_t leaves_given(Desk& desk, const PeerKey& to, const Digest& root, std::uint32_t count) {
    for (std::uint64_t given = 0; given < 1'000; ++given) {
        const auto leaf = static_cast<std::uint32_t>(given % count);
        desk.donor.requested(desk.now, to, {.root = root, .leaf = leaf});
        if (desk.donor.next(desk.now, to)->data.empty()) return given;
    }
    return 1'000;
}

}  // namespace

TEST_CASE("a peer that asks again and again is given sixteen states", "[state]") {
    Desk desk;  // a state of three leaves
    desk.snapshot(kAsker);
    const Digest root = desk.own.state;
    CHECK(leaves_given(desk, kAsker, root, 3) == 16 * 3);
    // Nor is one offered any more, and no snapshot is taken for it.
    desk.keep(k5);
    desk.query(kAsker, desk.own.step);
    CHECK(desk.out.messages.empty());
    CHECK(desk.out.actions.empty());
    // Another peer is served, and a new link changes nothing.
    CHECK(leaves_given(desk, kOther, root, 3) == 16 * 3);
    desk.donor.lost(kAsker);
    CHECK(leaves_given(desk, kAsker, root, 3) == 0);
}

TEST_CASE("a peer that was given sixteen states gets another one every eight minutes", "[state]") {
    Desk desk;
    desk.snapshot(kAsker);
    CHECK(leaves_given(desk, kAsker, desk.own.state, 3) == 16 * 3);
    for (const std::chrono::minutes wait : {7min, 2min, 8min, 24min, 1440min}) {
        desk.now += wait;
        desk.keep(desk.own.step);
        desk.query(kAsker, desk.own.step);
        const std::uint64_t states = wait == 7min      ? 0
                                     : wait == 24min   ? 3
                                     : wait == 1440min ? 16
                                                       : 1;
        CHECK(desk.is_taking() == (states > 0));
        if (states == 0) continue;
        desk.taken(desk.history.snapshot(desk.own.step));
        CHECK(leaves_given(desk, kAsker, desk.own.state, 3) == states * 3);
    }
}

TEST_CASE("a peer is given the average of a round twice", "[state]") {
    Desk desk;
    desk.query(kAsker, StepIndex{4}, true);
    const auto* round = desk.said<wire::RoundOffer>();
    REQUIRE(round);
    const Digest root = round->record.average;
    CHECK(leaves_given(desk, kAsker, root, 1) == 4);  // an average of one leaf
    CHECK(leaves_given(desk, kOther, root, 1) == 4);
    desk.query(kAsker, StepIndex{3}, true);
    CHECK(leaves_given(desk, kAsker, desk.said<wire::RoundOffer>()->record.average, 1) == 4);
}

TEST_CASE("the number of peers that are remembered is bounded", "[state]") {
    Desk desk;
    desk.snapshot(kAsker);
    CHECK(leaves_given(desk, kAsker, desk.own.state, 3) == 16 * 3);
    for (std::uint32_t i = 0; i < 10'000; ++i) {
        PeerKey key{{std::byte{7}}};
        key.bytes[1] = static_cast<std::byte>(i);
        key.bytes[2] = static_cast<std::byte>(i >> 8);
        desk.donor.queried(desk.now, key, 0, desk.own.step, {.has_state = false}, desk.own,
                           desk.out);
        desk.donor.lost(key);
    }
    desk.donor.check_invariants();
    // A peer that has been given much is remembered longest.
    CHECK(leaves_given(desk, kAsker, desk.own.state, 3) == 0);
}
