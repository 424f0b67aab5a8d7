// Which flows count as limited by loss.
#include "peer/net/session/loss_watch.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <functional>

namespace dedloc::net {
namespace {

using namespace std::chrono_literals;

/// A sender that always has more to send over a path of 200 ms which loses a packet a second, and
/// what is different from that.
struct Sender {
    std::function<void(FlowSample&)> change = [](FlowSample&) {};
    LossWatch watch;
    LossWatch::Time now{};
    FlowSample total{.has_more = true, .round_trip = 202ms, .shortest_round_trip = 200ms};

    bool check() {
        now += 1s;
        total.busy += 1s;
        total.sent_again += 1;
        FlowSample sample = total;
        change(sample);
        return watch.check(now, sample);
    }
    /// The first of some checks that finds a limit; 0: none.
    int first_limited() {
        for (int k = 1; k <= 20; ++k) {
            if (check()) return k;
        }
        return 0;
    }
};

TEST_CASE("a flow that loses packets on a long path is limited by loss after two checks", "[net]") {
    Sender sender;
    CHECK(sender.first_limited() == 1 + LossWatch::kChecks);
    CHECK(sender.check());
}

TEST_CASE("rare losses count as long as the flow always has more to send", "[net]") {
    Sender sender;
    sender.change = [&](FlowSample& sample) { sample.sent_again = sample.sent_again < 7 ? 0 : 1; };
    CHECK(sender.first_limited() == 8);
}

TEST_CASE("a flow is not limited by loss for any other reason", "[net]") {
    Sender sender;
    SECTION("it loses nothing") {
        sender.change = [](FlowSample& s) { s.sent_again = 3; };
    }
    SECTION("its path is full") {
        sender.change = [](FlowSample& s) { s.round_trip = 221ms; };
    }
    SECTION("its path is short") {
        sender.change = [](FlowSample& s) { s.round_trip = s.shortest_round_trip = 49ms; };
    }
    SECTION("it has BBR") {
        sender.change = [](FlowSample& s) { s.obeys_loss = false; };
    }
    SECTION("it has nothing more to send") {
        sender.change = [](FlowSample& s) { s.has_more = false; };
    }
    SECTION("it was idle") {
        sender.change = [](FlowSample& s) { s.busy = s.busy * 7 / 10; };
    }
    SECTION("its receiver limits it") {
        sender.change = [](FlowSample& s) { s.limited_by_ends = s.busy / 3; };
    }
    CHECK(sender.first_limited() == 0);
}

TEST_CASE("a pause begins the observation anew", "[net]") {
    Sender sender;
    CHECK_FALSE(sender.check());
    CHECK_FALSE(sender.check());
    CHECK_FALSE(sender.watch.check(sender.now += 1s, {}));
    CHECK_FALSE(sender.check());
    CHECK_FALSE(sender.check());
    CHECK(sender.check());
}

}  // namespace
}  // namespace dedloc::net
