// What a backbone reports of the states that members reach, and that a crash loses none of it.
#include <catch2/catch.hpp>
#include <chrono>
#include <optional>
#include <vector>

#include "tests/peer/core/beside_backbone.hpp"

using namespace dedloc;
using namespace dedloc::tests;
using namespace std::chrono_literals;

namespace {

/// A backbone that has come back after it decided a round of itself and two members.
struct CameBack {
    explicit CameBack(std::optional<StepIndex> last_settled)
        : peer(config(history, last_settled), kBackbone) {}

    static PeerConfig config(WrittenHistory& history, std::optional<StepIndex> last_settled) {
        PeerConfig config = config_of(Role::kBackbone);
        config.last_decision = history.decide_with({kBackbone, kOther, kThird});
        config.last_settled = last_settled;
        return config;
    }
    void reach_own_state() {
        peer.tell(event::StateReached{.step = history.head().step, .digest = history.state()});
    }
    void hear_state(OtherEnd& end, const Digest& state) {
        wire::Heartbeat heartbeat = history.heartbeat();
        heartbeat.state = state;
        peer.hear(end, history.head().step, heartbeat);
    }
    std::vector<action::Settled> settled() const { return peer.acted<action::Settled>(); }

    WrittenHistory history{kBackbone};
    HandFed peer;
};

TEST_CASE("a backbone killed after a decision counts its states when it is back", "[core]") {
    CameBack back{std::nullopt};
    back.reach_own_state();
    CHECK(back.settled().empty());
    back.hear_state(back.peer.introduce(kOther), back.history.state());
    CHECK(back.settled().empty());
    back.hear_state(back.peer.introduce(kThird), WrittenHistory::state_at(StepIndex{40}));
    const auto settled = back.settled();
    REQUIRE(settled.size() == 1);
    CHECK(settled[0].step == StepIndex{1});
    CHECK(settled[0].digest == back.history.state());
    CHECK(settled[0].reported == 3);
    CHECK(settled[0].equal == 2);
    CHECK(back.peer.has_note("reached a different state at step 1"));
}

TEST_CASE("a member that does not come back is waited for until the join timeout", "[core]") {
    CameBack back{std::nullopt};
    back.reach_own_state();
    back.hear_state(back.peer.introduce(kOther), back.history.state());
    back.peer.pass(RoundRules{}.join_timeout - 1s);
    CHECK(back.settled().empty());
    back.peer.pass(2s);
    REQUIRE(back.settled().size() == 1);
    CHECK(back.settled()[0].reported == 2);
    CHECK(back.settled()[0].equal == 2);
}

TEST_CASE("a member that holds no state is not waited for", "[core]") {
    CameBack back{std::nullopt};
    back.reach_own_state();
    back.hear_state(back.peer.introduce(kOther), back.history.state());
    back.peer.introduce(kThird, {.role = Role::kAggregator});
    back.peer.pass(1s);
    REQUIRE(back.settled().size() == 1);
    CHECK(back.settled()[0].reported == 2);
}

TEST_CASE("states that were counted before a crash are not counted again", "[core]") {
    CameBack back{StepIndex{1}};
    back.reach_own_state();
    back.hear_state(back.peer.introduce(kOther), back.history.state());
    back.peer.pass(RoundRules{}.join_timeout + 1s);
    CHECK(back.settled().empty());
}

}  // namespace
