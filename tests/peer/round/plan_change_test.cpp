// Large plans: who gets a change and who the whole plan, and when they leave a slow uplink.
#include "peer/wire/plan_change.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>

#include "tests/peer/round/coordinator_bench.hpp"
#include "tests/peer/round/member_bench.hpp"

using namespace dedloc;
using namespace dedloc::round;

namespace {

/// A round of the coordinator and 79 trainers, without relays.
struct Large : CoordinatorBench {
    Large() {
        for (std::uint8_t n = 11; n < 90; ++n) add(n, 0);
        first = plan(30);
        REQUIRE(first.members.size() == 80);
        REQUIRE(first.relays.empty());
    }
    void report(std::uint8_t n, std::uint32_t attempt_held) {
        wire::Heartbeat heartbeat;
        heartbeat.term = term();
        heartbeat.attempt = attempt_held;
        coordinator.on_heartbeat(now, key_of(n), heartbeat, out);
    }
    /// The receivers of the only message of this kind.
    template <class Body>
    Keys receivers() const {
        const auto messages = sent<Body>();
        REQUIRE(messages.size() == 1);
        return messages.front().to;
    }
    wire::Plan first;
};

/// 79 trainers have joined a round whose coordinator sends 12 plans of 8 kB a second.
struct SlowUplink : CoordinatorBench {
    explicit SlowUplink(Bandwidth uplink = Bandwidth{200'000}) {
        upload = uplink;
        for (std::uint8_t n = 11; n < 90; ++n) add(n, 0);
        coordinator.on_report(now, self(), step(), Samples{96}, 0);
        advance(1s);
        const auto calls = sent<wire::Call>();
        REQUIRE(calls.size() == 1);
        for (const PeerKey& peer : calls.front().to) join(peer, 30);
    }
    /// Receivers of plans since `out` was emptied.
    Keys receivers() const {
        Keys all;
        for (const OutgoingMessage& message : sent<wire::Plan>()) {
            all.insert(all.end(), message.to.begin(), message.to.end());
        }
        return all;
    }
    /// Advances until the plan is sent to all.
    void tell_all() {
        while (coordinator.is_telling()) {
            REQUIRE(coordinator.next_deadline() <= now + 2s);
            advance(std::max(coordinator.next_deadline() - now, Duration{1ms}));
        }
    }
};

bool contains(const Keys& keys, std::uint8_t n) {
    return std::ranges::find(keys, key_of(n)) != keys.end();
}

}  // namespace

TEST_CASE("an amendment of a large plan goes as a change to peers that hold the plan", "[round]") {
    Large round;
    round.report(20, round.first.attempt);
    round.report(21, round.first.attempt - 1);
    round.report(22, round.first.attempt);
    round.be_ready(key_of(30));
    round.out = {};
    round.lose(22);
    round.advance();
    const Keys changed = round.receivers<wire::PlanChange>();
    CHECK(changed.size() == 3);  // also the one that is left out
    CHECK(contains(changed, 20));
    CHECK(contains(changed, 30));
    const Keys whole = round.receivers<wire::Plan>();
    CHECK(whole.size() == 77);
    CHECK(contains(whole, 21));
    CHECK_FALSE(contains(whole, 20));
    const auto made = wire::applied(round.first, round.said<wire::PlanChange>().front());
    REQUIRE(made);
    CHECK(*made == round.said<wire::Plan>().front());
    // What was said of the first attempt does not count for the second.
    round.out = {};
    round.report(20, round.first.attempt);
    round.lose(23);
    round.advance();
    CHECK(round.said<wire::PlanChange>().empty());
    CHECK(round.receivers<wire::Plan>().size() == 79);
}

TEST_CASE("plans leave no faster than half the uplink carries them", "[round]") {
    SlowUplink round;
    const TimePoint begin = round.now;
    CHECK(round.receivers().size() <= 4);
    CHECK(std::ranges::count(round.receivers(), round.self()) == 1);
    CHECK(round.coordinator.is_telling());
    round.tell_all();
    CHECK(round.now - begin > 5s);
    CHECK(round.now - begin < 8s);
    Keys told = round.receivers();
    std::ranges::sort(told);
    Keys members = members_of(round.last_plan);
    CHECK(members.size() == 80);
    std::ranges::sort(members);
    CHECK(told == members);
}

TEST_CASE("a round is not too late while its plan is under way", "[round]") {
    SlowUplink round{Bandwidth{10'000}};
    const TimePoint begin = round.now;
    round.tell_all();
    CHECK(round.now - begin > 2 * round.config.rules.round_timeout);
    CHECK(round.sent<wire::Cancel>().empty());
    CHECK(round.receivers().size() == 80);
    const TimePoint deadline = round.coordinator.next_deadline();
    CHECK(deadline >= round.now + round.config.rules.round_timeout);
    round.advance(deadline - round.now);
    CHECK(round.sent<wire::Cancel>().size() == 1);
}

TEST_CASE("a plan is amended once members have had time to tell that they hold it", "[round]") {
    SlowUplink round;
    const wire::Plan first = round.last_plan;
    round.lose(22);
    round.lose(23);
    round.tell_all();
    round.lose(24);
    round.advance();
    CHECK(round.last_plan == first);
    for (std::uint8_t n = 25; n < 90; ++n) {
        wire::Heartbeat heartbeat;
        heartbeat.term = round.term();
        heartbeat.attempt = first.attempt;
        round.coordinator.on_heartbeat(round.now, key_of(n), heartbeat, round.out);
    }
    round.out = {};
    round.advance(2s);
    CHECK(members_of(round.last_plan).size() == 77);
    CHECK(round.receivers().size() <= 15);
    REQUIRE(round.sent<wire::PlanChange>().size() == 1);
    CHECK(round.sent<wire::PlanChange>().front().to.size() == 65);
}

TEST_CASE("no member is blamed for what a plan that is still under way asks for", "[round]") {
    SlowUplink round;
    const auto complain = [&] {
        for (std::uint8_t n = 30; n < 80; ++n) {
            round.stall(key_of(n), {.term = {}, .attempt = 0, .senders = {11, 12}, .reducers = {}});
        }
        round.advance(1s);
    };
    const wire::Plan first = round.last_plan;
    // The members that got it first have waited long enough.
    round.advance(round.config.rules.stall_timeout * 3 / 4);
    CHECK(round.coordinator.is_telling());
    complain();
    CHECK(round.last_plan == first);
    round.tell_all();
    complain();
    CHECK(round.last_plan == first);
    round.advance(round.config.rules.stall_timeout);
    complain();
    CHECK(round.last_plan.attempt > first.attempt);
    CHECK(round.last_plan.members.size() == 78);
}

TEST_CASE("a cancelled plan is sent to no further peer", "[round]") {
    SlowUplink round;
    round.coordinator.on_generation();
    CHECK_FALSE(round.coordinator.is_telling());
    round.out = {};
    round.advance(10s);
    CHECK(round.sent<wire::Plan>().empty());
}

TEST_CASE("a peer that lacks the base of a change gets the whole plan once", "[round]") {
    Large round;
    round.report(20, round.first.attempt);
    round.lose(22);
    round.advance();
    const auto ask = [&](const PeerKey& peer, const wire::PlanQuery& query) {
        round.out = {};
        round.coordinator.on_plan_query(round.now, peer, round.step(), query, round.out);
        return round.said<wire::Plan>();
    };
    const wire::PlanQuery query{.term = round.term(), .attempt = round.attempt()};
    CHECK(ask(key_of(99), query).empty());
    CHECK(ask(key_of(20), {.term = round.term(), .attempt = round.first.attempt}).empty());
    CHECK(ask(key_of(20), {.term = {}, .attempt = round.attempt()}).empty());
    REQUIRE(ask(key_of(20), query).size() == 1);
    CHECK(ask(key_of(20), query).empty());
    CHECK(ask(key_of(21), query).front() == round.last_plan);
}

TEST_CASE("a member follows a change of its plan, and asks for a plan whose base it lacks",
          "[round]") {
    MemberBench bench;
    const wire::Plan first = bench.plan(1, true);
    wire::Plan second = first;
    ++second.attempt;
    const auto change = *wire::change_of(first, second);
    const auto queries = [&] {
        std::size_t count = 0;
        for (const OutgoingMessage& message : bench.out.messages) {
            const auto* query = std::get_if<wire::PlanQuery>(&message.body);
            if (query == nullptr) continue;
            ++count;
            CHECK(query->attempt == change.attempt);
            CHECK(message.to == Keys{change.term.coordinator});
        }
        return count;
    };
    CHECK_FALSE(bench.member.on_plan_change(bench.step(), change, bench.out));
    CHECK(queries() == 1);
    CHECK_FALSE(bench.member.on_plan_change(bench.step(), change, bench.out));
    CHECK(queries() == 1);
    bench.follow(first);
    CHECK_FALSE(bench.member.on_plan_change(bench.step().next(), change, bench.out));
    REQUIRE(bench.member.on_plan_change(bench.step(), change, bench.out) == second);
    wire::PlanChange false_change = change;
    false_change.digest.bytes[0] ^= std::byte{1};
    ++false_change.attempt;
    bench.out = {};
    CHECK_FALSE(bench.member.on_plan_change(bench.step(), false_change, bench.out));
    CHECK(bench.out.messages.size() == 1);
    bench.follow(second);
    bench.out = {};
    CHECK_FALSE(bench.member.on_plan_change(bench.step(), change, bench.out));
    CHECK(queries() == 0);
}
