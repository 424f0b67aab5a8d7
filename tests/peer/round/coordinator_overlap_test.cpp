// What a coordinator does differently in a run with overlap: when it calls, and what it lets
// members claim.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/peer/round/coordinator_bench.hpp"

using namespace dedloc;
using namespace dedloc::round;

namespace {

struct OverlapBench : CoordinatorBench {
    OverlapBench() : CoordinatorBench(1, true) {}
    /// The round of the last plan is decided, and this peer holds the next state.
    void decide() {
        const CommitRecord record = record_of(last_plan, {}, {}, voter.head());
        voter.append(record);
        member.on_state({.step = step(), .digest = {}}, out);
        coordinator.on_head(now, true, &record);
        out = {};
    }
};

}  // namespace

TEST_CASE("with overlap a call waits until the members of the decided round hold its state",
          "[round]") {
    OverlapBench bench;
    bench.add(11, 0, {.max_samples_per_second = 1'000});
    bench.add(12, 0, {.max_samples_per_second = 1'000});
    bench.plan(40);
    bench.decide();
    // One member alone has filled the next batch during the round.
    bench.hear(bench.end(11), 200);
    bench.advance(1s);
    CHECK(bench.said<wire::Call>().empty());
    SECTION("and ends when the last one does") {
        bench.hear(bench.end(12), 0);
        bench.advance(1s);
        CHECK(bench.said<wire::Call>().size() == 1);
    }
    SECTION("and ends when the last one is lost") {
        bench.lose(12);
        bench.advance(1s);
        CHECK(bench.said<wire::Call>().size() == 1);
    }
    SECTION("but not for longer than a Call would wait, and not for the same one again") {
        bench.advance(bench.config.rules.join_timeout);
        REQUIRE(bench.sent<wire::Call>().size() == 1);
        const PeerKey late = test_key(12).public_key();
        CHECK(std::ranges::count(bench.sent<wire::Call>().front().to, late) == 0);
    }
}

TEST_CASE("with overlap samples count that can have been computed since the state before",
          "[round]") {
    OverlapBench bench;
    bench.add(11, 0, {.max_samples_per_second = 10});
    bench.add(12, 0, {.max_samples_per_second = 10});
    bench.plan(10);  // a second after lead() has moved the head
    bench.advance(9s);
    bench.decide();
    for (std::uint8_t n = 11; n <= 12; ++n) bench.hear(bench.end(n), 0);
    bench.coordinator.on_report(bench.now, bench.self(), bench.step(), Samples{9'600}, 0);
    bench.advance(1s);
    REQUIRE(bench.said<wire::Call>().size() == 1);
    bench.join(bench.self(), 8);
    // Ten seconds until the decision, one since then, and one for clocks that differ.
    bench.join(test_key(11).public_key(), 120);
    bench.join(test_key(12).public_key(), 121);
    REQUIRE(bench.said<wire::Plan>().size() == 1);
    const auto members = members_of(bench.last_plan);
    CHECK(std::ranges::count(members, test_key(11).public_key()) == 1);
    CHECK(std::ranges::count(members, test_key(12).public_key()) == 0);
}
