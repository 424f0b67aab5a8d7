#include <catch2/catch.hpp>
#include <cstring>

#include "kernels/digest.hpp"
#include "peer/state/packed_average.hpp"
#include "tests/peer/state/donor_desk.hpp"

using namespace dedloc;
using namespace dedloc::test;

TEST_CASE("a state is offered after a snapshot, with its leaves and certificate", "[state]") {
    Desk desk;
    desk.query(kAsker, k5);
    REQUIRE(desk.is_taking());
    desk.query(kOther, k5);
    CHECK(desk.out.actions.empty());  // one snapshot serves both
    desk.taken(desk.history.snapshot(k5));
    REQUIRE(desk.out.messages.size() == 2);
    const auto* offer = desk.said<wire::StateOffer>();
    REQUIRE(offer);
    CHECK(desk.out.messages[0].step == k5);
    CHECK(offer->bytes == 12 * kElements);
    CHECK(offer->leaves == desk.history.snapshot(k5).leaves);
    CHECK(offer->record == desk.history.record_before(k5));
    CHECK(offer->votes == desk.history.proof(k5).votes);
    desk.query(kAsker, k5);
    CHECK(desk.said<wire::StateOffer>());
    CHECK(desk.out.actions.empty());
}

TEST_CASE("retained rounds are offered, and the oldest are dropped", "[state]") {
    Desk desk{2};
    for (std::uint64_t step = 0; step < 5; ++step) {
        desk.query(kAsker, StepIndex{step}, true);
        const auto* round = desk.said<wire::RoundOffer>();
        REQUIRE((round != nullptr) == (step >= 3));
        if (!round) continue;
        CHECK(round->record == desk.history.record(StepIndex{step}));
        CHECK(round->certificate == History::certificate());
        const auto leaf = desk.leaf(round->record.average, 0);
        REQUIRE(leaf);
        CHECK(kernels::leaf_digest(leaf->data) == round->leaves[0].bytes);
    }
    desk.query(kAsker, k5, true);
    CHECK(desk.out.messages.empty());  // the querier is at the donor's step
    CHECK(desk.out.actions.empty());
    desk.query(kAsker, StepIndex{4}, true, 1);
    CHECK_FALSE(desk.said<wire::RoundOffer>());  // the query names another generation
}

TEST_CASE("no average is kept if kept_averages is 0", "[state]") {
    Desk desk{0};
    desk.query(kAsker, StepIndex{4}, true);
    CHECK_FALSE(desk.said<wire::RoundOffer>());
    CHECK(desk.is_taking());
}

TEST_CASE("keep returns an average that is no longer retained", "[state]") {
    Desk desk;  // retains the averages of steps 3 and 4
    const auto keep = [&](StepIndex step, const SharedFloats& average) {
        return desk.donor.keep(desk.history.record(step), History::certificate(), average);
    };
    const SharedFloats five = desk.history.average(k5);
    const SharedFloats first = keep(k5, five);
    REQUIRE(first);
    CHECK(*first == *desk.history.average(StepIndex{3}));
    CHECK_FALSE(keep(k5, five));               // already retained
    CHECK_FALSE(keep(StepIndex{6}, nullptr));  // the average is not held
    CHECK(keep(StepIndex{6}, five) != nullptr);
    CHECK(keep(StepIndex{7}, five) == five);
    Desk none{0};
    CHECK(none.donor.keep(none.history.record(k5), History::certificate(), five) == five);
}

TEST_CASE("states of more than 6 GiB are given too, up to the largest", "[state]") {
    Desk desk;
    // LAMB's three vectors of 2²⁹ elements are 6 GiB, and those of 2³² are 48 GiB.
    desk.rules.elements = GENERATE((std::uint64_t{1} << 29) + 65'536, wire::kMaxElements);
    desk.query(kAsker, desk.own.step);
    CHECK(desk.is_taking());
}

TEST_CASE("a snapshot that no peer uses is dropped before the state changes", "[state]") {
    Desk desk;
    desk.snapshot(kAsker);
    const Digest root = desk.own.state;
    desk.now += desk.rules.failure_timeout - 1ms;
    desk.donor.state_changes(desk.now);
    CHECK_FALSE(desk.leaf(root, 0)->data.empty());
    desk.now += desk.rules.failure_timeout - 1ms;
    desk.donor.requested(desk.now, kAsker, {.root = root, .leaf = 1});
    desk.now += desk.rules.failure_timeout;
    desk.donor.state_changes(desk.now);  // a request waits
    CHECK_FALSE(desk.donor.next(desk.now, kAsker)->data.empty());
    desk.now += desk.rules.failure_timeout;
    desk.donor.state_changes(desk.now);
    CHECK(desk.leaf(root, 0)->data.empty());
}

TEST_CASE("two snapshots are kept, and both stay while they are fetched", "[state]") {
    Desk desk;
    desk.snapshot(kAsker);
    desk.keep(k5);
    desk.snapshot(kOther);
    desk.keep(StepIndex{6});
    desk.query(kAsker, StepIndex{7});
    CHECK(desk.out.actions.empty());  // no third snapshot: the newer one is offered
    REQUIRE(desk.said<wire::StateOffer>());
    CHECK(desk.out.messages[0].step == StepIndex{6});
    desk.query(kAsker, k5);
    CHECK(desk.out.messages[0].step == k5);  // the queried state is held

    desk.now += desk.rules.failure_timeout;
    CHECK(desk.leaf(desk.history.state_digest(StepIndex{6}), 1)->data.size() == 262'144);
    desk.query(kOther, StepIndex{7});
    REQUIRE(desk.is_taking());  // replaces the unused snapshot
    desk.taken(desk.history.snapshot(StepIndex{7}));
    CHECK(desk.leaf(desk.history.state_digest(k5), 1)->data.empty());
    CHECK_FALSE(desk.leaf(desk.history.state_digest(StepIndex{6}), 1)->data.empty());
}

PeerKey asker(int number) {
    return PeerKey{{std::byte{7}, static_cast<std::byte>(number)}};
}

TEST_CASE("a state is served to four peers at once, then to the longest waiting", "[state]") {
    Desk desk;
    desk.snapshot(asker(9));
    for (const int k : {8, 7, 6}) {
        desk.query(asker(k), k5);
        CHECK(desk.offered() == std::vector{asker(k)});
    }
    for (const int k : {5, 3, 4}) {
        desk.now += 1ms;
        desk.query(asker(k), k5);
        CHECK(desk.out.messages.empty());
    }
    desk.query(asker(7), k5);
    CHECK(desk.offered() == std::vector{asker(7)});  // it has missed the offer, and keeps its turn

    // A peer with leaf requests keeps its turn; two others request nothing, and one is lost.
    desk.now += desk.rules.heartbeat / 2;
    desk.donor.requested(desk.now, asker(9), {.root = desk.history.state_digest(k5), .leaf = 0});
    CHECK(desk.donor.next_deadline() < desk.now + desk.rules.heartbeat);
    desk.donor.lost(asker(6));
    // A turn without a request lasts a heartbeat and half a second, which a leaf takes.
    desk.now += desk.rules.heartbeat / 2;
    desk.advance();
    CHECK(desk.offered() == std::vector{asker(5)});
    desk.now += 500ms;
    desk.advance();
    CHECK(desk.offered() == std::vector{asker(3), asker(4)});
    CHECK(desk.donor.next(desk.now, asker(9)));
    CHECK(desk.donor.next_deadline() == desk.now + 2 * desk.rules.failure_timeout);
}

TEST_CASE("a waiting peer that stops asking gets no turn", "[state]") {
    Desk desk;
    desk.snapshot(asker(9));
    for (const int k : {8, 7, 6, 5, 4}) desk.query(asker(k), k5);
    desk.now += 2 * desk.rules.failure_timeout - 1ns;
    desk.query(asker(3), k5);
    CHECK(desk.offered() == std::vector{asker(4), asker(5), asker(3)});
    for (const int k : {2, 1}) desk.query(asker(k), k5);
    desk.now += 2 * desk.rules.failure_timeout;
    desk.advance();
    CHECK(desk.offered().empty());
}

TEST_CASE("a peer that requests leaves for ever does not block the others", "[state]") {
    Desk desk;
    desk.donor.set_upload(Bandwidth{100'000});  // one at a time
    desk.snapshot(asker(9));
    desk.query(asker(8), k5);
    const TimePoint start = desk.now;
    while (desk.now < start + 60s) {
        desk.now += desk.rules.heartbeat / 2;
        desk.donor.requested(desk.now, asker(9),
                             {.root = desk.history.state_digest(k5), .leaf = 0});
        desk.query(asker(8), k5);
        if (!desk.offered().empty()) break;
        CHECK(desk.donor.next(desk.now, asker(9)));
    }
    CHECK(desk.offered() == std::vector{asker(8)});
    CHECK(desk.now >= start + 2 * desk.rules.failure_timeout);
}

TEST_CASE("a turn ends when every leaf has been sent", "[state]") {
    Desk desk;
    desk.donor.set_upload(Bandwidth{100'000});  // one at a time
    desk.snapshot(asker(9));
    desk.query(asker(8), k5);
    for (std::uint32_t leaf = 0; leaf < 3; ++leaf) {
        desk.advance();
        CHECK(desk.offered().empty());
        desk.donor.requested(desk.now, asker(9),
                             {.root = desk.history.state_digest(k5), .leaf = leaf});
        CHECK_FALSE(desk.donor.next(desk.now, asker(9))->data.empty());
    }
    CHECK(desk.donor.next_deadline() <= desk.now);
    desk.advance();
    CHECK(desk.offered() == std::vector{asker(8)});
}

TEST_CASE("on a slow uplink a state is served to one peer at a time", "[state]") {
    Desk desk;
    desk.donor.set_upload(Bandwidth{100'000});
    desk.snapshot(asker(9));
    desk.query(asker(8), k5);
    CHECK(desk.offered().empty());
    desk.donor.set_upload(Bandwidth{1'100'000});
    desk.advance();
    CHECK(desk.offered() == std::vector{asker(8)});
    desk.query(asker(7), k5);
    CHECK(desk.offered().empty());
}

TEST_CASE("a snapshot is forgotten when unused for two failure timeouts", "[state]") {
    Desk desk;
    desk.snapshot(kAsker);
    const Digest root = desk.history.state_digest(k5);
    CHECK(desk.donor.next_deadline() == desk.now + 2 * desk.rules.failure_timeout);
    desk.now += 2 * desk.rules.failure_timeout - 1ns;
    desk.advance();
    CHECK_FALSE(desk.leaf(root, 0)->data.empty());
    desk.now += 2 * desk.rules.failure_timeout - 1ns;
    desk.donor.requested(desk.now, kAsker, {.root = root, .leaf = 1});
    desk.now += 10 * desk.rules.failure_timeout;
    desk.advance();  // a queued request keeps the snapshot, however long the link is busy
    CHECK_FALSE(desk.donor.next(desk.now, kAsker)->data.empty());
    desk.now += 2 * desk.rules.failure_timeout;
    desk.advance();
    CHECK(desk.leaf(root, 0)->data.empty());
    CHECK(desk.donor.next_deadline() == kNever);
}

TEST_CASE("a snapshot of another history is not offered", "[state]") {
    Desk desk;
    desk.query(kAsker, k5);
    auto wrong = desk.history.snapshot(k5);
    wrong.digest.bytes[3] ^= std::byte{1};
    desk.taken(wrong);
    CHECK(desk.out.messages.empty());
    CHECK(desk.out.actions.size() == 1);  // a note

    desk.query(kAsker, k5);
    REQUIRE(desk.is_taking());
    desk.keep(k5);
    desk.own.has_state = false;  // it applies the next update
    desk.taken(desk.history.snapshot(k5));
    CHECK(desk.said<wire::StateOffer>());
}

TEST_CASE("a snapshot that was not requested is ignored", "[state]") {
    Desk desk;
    desk.taken(desk.history.snapshot(k5));
    CHECK(desk.leaf(desk.history.state_digest(k5), 0)->data.empty());
}

TEST_CASE("requests are bounded, and repeated ones count once", "[state]") {
    Desk desk;
    desk.snapshot(kAsker);
    const Digest root = desk.history.state_digest(k5);
    for (std::uint32_t i = 0; i < 100; ++i) {
        desk.donor.requested(desk.now, kAsker, {.root = root, .leaf = i / 2});
    }
    desk.donor.check_invariants();
    std::uint32_t sent = 0;
    while (const auto leaf = desk.donor.next(desk.now, kAsker)) {
        CHECK(leaf->leaf == sent++);
        CHECK(leaf->data.empty() == (leaf->leaf >= 3));  // the state has three leaves
    }
    CHECK(sent == 16);
    CHECK_FALSE(desk.donor.next(desk.now, kOther));
    desk.donor.requested(desk.now, kAsker, {.root = root, .leaf = 0});
    desk.donor.lost(kAsker);
    CHECK_FALSE(desk.donor.has_next(kAsker));
}

TEST_CASE("repeated queries get a limited number of answers per heartbeat", "[state]") {
    Desk desk;
    desk.snapshot(kAsker);
    std::size_t answers = 0;
    for (int i = 0; i < 100; ++i) {
        desk.query(kAsker, i % 2 == 0 ? k5 : StepIndex{4}, i % 2 != 0);
        answers += desk.out.messages.size();
    }
    CHECK(answers == 5);
    desk.query(kOther, k5);
    CHECK(desk.out.messages.size() == 1);
    desk.now += desk.rules.heartbeat;
    desk.query(kAsker, k5);
    CHECK(desk.out.messages.size() == 1);
}

TEST_CASE("a new generation offers nothing of an older one", "[state]") {
    Desk desk;
    desk.snapshot(kAsker);
    desk.donor.begin(1);
    CHECK(desk.leaf(desk.history.state_digest(k5), 0)->data.empty());
    desk.query(kAsker, StepIndex{4}, true, 1);
    CHECK(desk.out.messages.empty());
    CHECK(desk.out.actions.empty());  // the donor's state is of the old generation
    desk.own.generation = 1;
    desk.query(kAsker, k5, false, 1);
    REQUIRE(desk.is_taking());
    desk.taken(desk.history.snapshot(k5));
    CHECK(desk.out.messages.empty());
    desk.certify(k5);  // a certificate of the old generation
    CHECK(desk.out.messages.empty());
    StateCertificate first = desk.history.proof(k5);
    first.generation = 1;
    first.votes.clear();
    desk.donor.certified(desk.now, first, desk.own, desk.out);
    REQUIRE(desk.said<wire::StateOffer>());
    CHECK(desk.said<wire::StateOffer>()->votes.empty());
}

TEST_CASE("a snapshot is not offered before its certificate is known", "[state]") {
    Desk desk;
    desk.certifies = false;
    desk.keep(k5);
    const StepIndex k6{6};
    desk.query(kAsker, k6);
    REQUIRE(desk.is_taking());
    desk.taken(desk.history.snapshot(k6));
    CHECK(desk.out.messages.empty());
    desk.advance();
    CHECK(desk.out.messages.empty());
    // A certificate of another step does not match this snapshot.
    desk.certify(StepIndex{7});
    CHECK(desk.out.messages.empty());
    desk.query(kOther, k6);
    CHECK(desk.out.messages.empty());
    CHECK(desk.out.actions.empty());
    desk.certify(k6);
    CHECK(desk.offered() == std::vector{kAsker, kOther});
    CHECK(desk.said<wire::StateOffer>()->record == desk.history.record_before(k6));
}

TEST_CASE("a snapshot of a state that the voters have not signed is never offered", "[state]") {
    Desk desk;
    desk.certifies = false;
    desk.keep(k5);
    const StepIndex k6{6};
    desk.query(kAsker, k6);
    desk.taken(desk.history.snapshot(k6));
    StateCertificate other = desk.history.proof(k6);
    other.state.bytes[0] ^= std::byte{1};
    desk.donor.certified(desk.now, other, desk.own, desk.out);
    desk.donor.check_invariants();
    CHECK(desk.out.messages.empty());
    desk.certify(k6);  // too late: another certificate of this step is known
    CHECK(desk.out.messages.empty());
}

TEST_CASE("a snapshot without a certificate does not block a certified one", "[state]") {
    Desk desk;
    desk.snapshot(asker(9));  // step 5, certified
    desk.certifies = false;
    desk.keep(k5);
    desk.query(asker(1), StepIndex{6});
    REQUIRE(desk.is_taking());
    desk.taken(desk.history.snapshot(StepIndex{6}));
    CHECK(desk.offered().empty());
    desk.now += 1ms;
    desk.query(asker(2), k5);
    CHECK(desk.offered() == std::vector{asker(2)});
    desk.certify(StepIndex{6});
    CHECK(desk.offered() == std::vector{asker(1)});
}

TEST_CASE("a donor that retains more rounds packs the older ones", "[state]") {
    for (const Codec codec : {Codec::kFp32, Codec::kBf16}) {
        Desk desk;
        desk.rules.codec = codec;
        desk.history.round_to_bf16 = true;
        desk.donor.retain(5);
        for (std::uint64_t s = 5; s < 12; ++s) desk.keep(StepIndex{s});
        for (std::uint64_t s = 0; s < 12; ++s) {
            INFO("round " << s);
            desk.now += desk.rules.heartbeat;
            desk.query(kAsker, StepIndex{s}, true);
            const auto* offer = desk.said<wire::RoundOffer>();
            REQUIRE((offer != nullptr) == (s >= 7));
            if (offer == nullptr) continue;
            CHECK(offer->record == desk.history.record(StepIndex{s}));
            const auto leaf = desk.leaf(offer->record.average, 0);
            REQUIRE(leaf);
            REQUIRE(leaf->data.size() == state::packed_bytes(codec, kElements));
            FloatVector values(kElements);
            if (codec == Codec::kFp32) {
                std::memcpy(values.data(), leaf->data.data(), leaf->data.size());
            } else {
                REQUIRE(state::unpack(codec, leaf->data, values));
            }
            CHECK(values == *desk.history.average(StepIndex{s}));
        }
    }
}
