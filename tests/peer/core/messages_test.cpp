// What one peer tells peers that are behind, and whose messages it takes notice of.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <vector>

#include "tests/peer/core/beside_backbone.hpp"

using namespace dedloc;
using namespace dedloc::tests;
using namespace std::chrono_literals;

// --- peers that are behind ---------------------------------------------------

TEST_CASE("a peer one step behind is told the commit once, by the coordinator or without one",
          "[core]") {
    Beside beside{Role::kTrainer};
    HandFed& peer = beside.peer;
    OtherEnd& late = peer.introduce(kOther);
    const Term led = beside.history.term();
    peer.hear(*beside.backbone, {}, beside.history.heartbeat(led));
    wire::Heartbeat behind = beside.history.heartbeat(led);
    const Decision decision = beside.decide(1)[0];
    beside.hear_commit(decision);
    peer.tell(event::StateReached{.step = StepIndex{1}, .digest = beside.history.state()});
    peer.hear(*beside.backbone, StepIndex{1}, beside.history.heartbeat(led));
    peer.pass(2s);
    peer.hear(late, {}, behind);
    CHECK(peer.said_to<wire::Commit>(late).empty());  // the coordinator tells it
    behind.term = {};
    peer.hear(late, {}, behind);
    CHECK(peer.said_to<wire::Commit>(late) == std::vector{wire::full_commit(decision)});
    for (int k = 0; k < 5; ++k) {
        peer.pass(1s);
        peer.hear(late, {}, behind);
    }
    CHECK(peer.said_to<wire::Commit>(late).size() == 1);
    // What was told over links that are closed now may be lost.
    peer.tell(event::LeaveRequested{});
    peer.tell(event::ReturnRequested{});
    OtherEnd& again = peer.introduce(kOther);
    peer.pass(1s);
    peer.hear(again, {}, behind);
    CHECK(peer.said_to<wire::Commit>(again).size() == 1);
}

TEST_CASE("a peer several steps behind is told the certificate", "[core]") {
    Beside beside{Role::kTrainer};
    HandFed& peer = beside.peer;
    OtherEnd& late = peer.introduce(kOther);
    const wire::Heartbeat behind = beside.history.heartbeat();
    for (const Decision& decision : beside.decide(3)) beside.hear_commit(decision);
    const wire::StateVotes certificate = beside.history.state_votes();
    peer.tell(event::StateReached{.step = StepIndex{3}, .digest = beside.history.state()});
    peer.hear(late, {}, behind);
    peer.pass(1s);
    CHECK(peer.said_to<wire::StateVotes>(late).empty());  // nothing proves the head
    peer.hear(*beside.backbone, StepIndex{3}, certificate);
    peer.forget();
    peer.hear(late, {}, behind);
    CHECK(peer.said_to<wire::StateVotes>(late) == std::vector{certificate});
    CHECK(peer.said_to<wire::Commit>(late).empty());
}

// --- messages that count from some peers only --------------------------------

TEST_CASE("a message of another generation is dropped", "[core]") {
    Beside beside{Role::kTrainer};
    HandFed& peer = beside.peer;
    peer.hear(*beside.backbone, {}, beside.history.heartbeat(beside.history.term()));
    peer.hear(*beside.backbone, {}, wire::Call{beside.history.term()}, 1);
    CHECK(peer.acted<action::Freeze>().empty());
    peer.hear(*beside.backbone, {}, wire::Call{beside.history.term()}, 0);
    CHECK(peer.acted<action::Freeze>().size() == 1);
}

TEST_CASE("a refusal counts from a voter only", "[core]") {
    Beside beside{Role::kTrainer};
    OtherEnd& member = beside.peer.introduce(kOther);
    beside.peer.hear(member, {}, wire::Refusal{"go away"});
    CHECK(beside.peer.acted<action::Refused>().empty());
    beside.peer.hear(*beside.backbone, {}, wire::Refusal{"the ticket is revoked"});
    const auto refused = beside.peer.acted<action::Refused>();
    REQUIRE(refused.size() == 1);
    CHECK(refused[0].reason == "the ticket is revoked");
}

TEST_CASE("a relayed message counts as its author's, and only a signed Plan or Commit is relayed",
          "[core]") {
    Beside beside{Role::kTrainer};
    HandFed& peer = beside.peer;
    OtherEnd& relay = peer.introduce(kOther);
    const auto frame = [&](wire::Body body, const KeyPair* signer, RunId run = {}) {
        const wire::Message message{.run = run,
                                    .generation = 0,
                                    .step = {},
                                    .sequence = 1,
                                    .sender = kBackbone.public_key(),
                                    .body = std::move(body)};
        return wire::Relay{*wire::frame_of(message, signer)};
    };
    const wire::Commit commit = wire::full_commit(beside.decide(1)[0]);
    bool is_taken = false;
    SECTION("a Commit") {
        peer.hear(relay, {}, frame(commit, &kBackbone));
        is_taken = true;
    }
    SECTION("unsigned") {
        peer.hear(relay, {}, frame(commit, nullptr));
    }
    SECTION("signed by another key") {
        peer.hear(relay, {}, frame(commit, &kOther));
    }
    SECTION("of another run") {
        peer.hear(relay, {}, frame(commit, &kBackbone, RunId{{std::byte{1}}}));
    }
    SECTION("a Call") {
        peer.hear(*beside.backbone, {}, beside.history.heartbeat(beside.history.term()));
        peer.hear(relay, {}, frame(wire::Call{beside.history.term()}, &kBackbone));
        CHECK(peer.acted<action::Freeze>().empty());
    }
    CHECK(peer.acted<action::Committed>().size() == (is_taken ? 1 : 0));
    CHECK(peer.acted<action::Close>().size() == (is_taken ? 0 : 1));
}

TEST_CASE("a peer that is away neither dials nor keeps links", "[core]") {
    Beside beside{Role::kTrainer};
    HandFed& peer = beside.peer;
    peer.tell(event::LeaveRequested{});
    CHECK(peer.acted<action::Left>().size() == 1);
    CHECK(peer.said_to<wire::Leave>(*beside.backbone).size() == 1);
    peer.forget();
    const event::LinkOpened opened{.link = LinkId{70}, .remote = {"10.0.0.70", 9}};
    const event::EndpointsFound found{{{"10.0.0.71", 9}}};
    peer.tell(opened);
    peer.tell(found);
    peer.pass(1min);
    REQUIRE(peer.acted<action::Close>().size() == 1);
    CHECK(peer.acted<action::Dial>().empty());
    CHECK(spoken(peer.actions).empty());
    peer.tell(event::ReturnRequested{});
    peer.tell(found);
    const auto dials = peer.acted<action::Dial>();
    CHECK(std::ranges::count(dials, found.endpoints[0], &action::Dial::remote) == 1);
}
