#include "peer/round/link_probe.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <optional>

#include "peer/round/relays.hpp"

namespace dedloc::round {
namespace {

using namespace std::chrono_literals;

constexpr std::uint8_t kHomes[] = {1, 2, 3};

PeerKey prober_key(std::uint8_t first) {
    return {{std::byte{first}}};
}

Callee callee_of(std::uint64_t samples, std::optional<std::uint64_t> speed) {
    const auto bandwidth = speed ? std::optional{Bandwidth{*speed}} : std::optional<Bandwidth>{};
    wire::Join join;
    join.samples = Samples{samples};
    join.receives = true;
    join.upload = join.download = bandwidth;
    return {.join = join, .endpoint = {"10.0.0.1", 4'000}};
}

/// A server with key 9 and homes with keys 1 to 3, all of which claim a megabyte per second.
std::map<PeerKey, Callee> swarm() {
    std::map<PeerKey, Callee> callees;
    for (const std::uint8_t home : kHomes) callees[prober_key(home)] = callee_of(8, 1'000'000);
    callees[prober_key(9)] = callee_of(0, 1'000'000);
    return callees;
}

/// A probe that has seen a round of 9 seconds.
LinkProbe probe_after_a_round() {
    LinkProbe probe;
    probe.on_decision(9s);
    return probe;
}

/// Plays a round. Returns the peer that is probed in it.
std::optional<PeerKey> play(LinkProbe& probe, const std::map<PeerKey, Callee>& callees,
                            bool is_worth_it = true, Duration took = 9s) {
    const auto probed = probe.next(callees);
    probe.on_plan(probed && is_worth_it);
    probe.on_decision(took);
    return probed && is_worth_it ? std::optional{probed->peer} : std::nullopt;
}

/// Rounds until the next one that is probed.
std::uint32_t rounds_without(LinkProbe& probe, const std::map<PeerKey, Callee>& callees) {
    std::uint32_t rounds = 0;
    while (!play(probe, callees)) ++rounds;
    return rounds;
}

TEST_CASE("a probe that finds more goes on with the same peer", "[averaging]") {
    LinkProbe probe = probe_after_a_round();
    auto callees = swarm();
    Duration took = 9s;
    for (std::uint64_t speed = 1'500'000; speed < 50'000'000; speed += speed / 2) {
        took -= 100ms;
        REQUIRE(play(probe, callees, true, took) == prober_key(9));
        callees[prober_key(9)] = callee_of(0, speed);
    }
    // It claims hardly more than before: that was all, and others are probed later.
    REQUIRE(play(probe, callees, true, 1s) == prober_key(9));
    CHECK(rounds_without(probe, callees) == LinkProbe::kFirstPause);
}

TEST_CASE("a probe that finds more and does not shorten the round has found nothing",
          "[averaging]") {
    LinkProbe probe = probe_after_a_round();
    auto callees = swarm();
    REQUIRE(play(probe, callees, true, 9s) == prober_key(9));
    callees[prober_key(9)] = callee_of(0, 2'000'000);
    CHECK(rounds_without(probe, callees) == LinkProbe::kFirstPause);
}

TEST_CASE("probes that find nothing become rare, and every peer gets one", "[averaging]") {
    LinkProbe probe = probe_after_a_round();
    const auto callees = swarm();
    REQUIRE(play(probe, callees) == prober_key(9));
    std::uint32_t pause = LinkProbe::kFirstPause;
    for (const std::uint8_t home : kHomes) {
        for (std::uint32_t k = 0; k < pause; ++k) REQUIRE_FALSE(play(probe, callees));
        REQUIRE(play(probe, callees) == prober_key(home));
        pause *= 2;
    }
    for (int k = 0; k < 20; ++k) {
        const std::uint32_t rounds = rounds_without(probe, callees);
        CHECK(rounds >= pause);
        CHECK(rounds <= 2 * LinkProbe::kMaxPause + 2);
        pause = std::min(2 * pause, LinkProbe::kMaxPause);
    }
}

TEST_CASE("no peer is probed whose faster link would bring nothing, or is not known",
          "[averaging]") {
    LinkProbe probe = probe_after_a_round();
    auto callees = swarm();
    for (int k = 0; k < 40; ++k) REQUIRE_FALSE(play(probe, callees, false));
    for (auto& [peer, callee] : callees) callee = callee_of(8, std::nullopt);
    for (int k = 0; k < 40; ++k) REQUIRE_FALSE(play(probe, callees));
    for (auto& [peer, callee] : callees) {
        callee = callee_of(8, 1'000'000);
        callee.may_reduce = false;
    }
    for (int k = 0; k < 40; ++k) REQUIRE_FALSE(play(probe, callees));
}

TEST_CASE("a home's link is asked for a fifth more, and for twice as much once that was there",
          "[averaging]") {
    auto callees = swarm();
    Duration took = 9s;
    const auto percent_of_next = [&](LinkProbe& probe, const PeerKey& peer) {
        const auto probed = probe.next(callees);
        REQUIRE((probed && probed->peer == peer));
        probe.on_plan(true);
        took -= 1s;
        probe.on_decision(took);
        return probed->percent;
    };
    LinkProbe of_server = probe_after_a_round();
    CHECK(percent_of_next(of_server, prober_key(9)) == 200);
    callees.erase(prober_key(9));
    LinkProbe probe = probe_after_a_round();
    CHECK(percent_of_next(probe, prober_key(1)) == 120);
    callees[prober_key(1)] = callee_of(8, 1'100'000);
    CHECK(percent_of_next(probe, prober_key(1)) == 200);
    for (std::uint32_t k = 0; k < LinkProbe::kFirstPause; ++k) REQUIRE_FALSE(play(probe, callees));
    CHECK(percent_of_next(probe, prober_key(2)) == 120);
}

TEST_CASE("a probe in a cancelled round has found nothing", "[averaging]") {
    LinkProbe probe = probe_after_a_round();
    auto callees = swarm();
    REQUIRE(probe.next(callees)->peer == prober_key(9));
    probe.on_plan(true);  // never decided
    callees[prober_key(9)] = callee_of(0, 3'000'000);
    CHECK(rounds_without(probe, callees) == LinkProbe::kFirstPause);
    // So has one whose peer has left.
    callees.erase(prober_key(1));
    CHECK(rounds_without(probe, callees) == 2 * LinkProbe::kFirstPause);
}

TEST_CASE("a plan with a probe gives the peer more and expects what the claims allow",
          "[averaging]") {
    RoundRules rules;
    rules.elements = 1'000'000;
    const auto callees = swarm();
    const auto chunks_of = [](const wire::Plan& plan, const PeerKey& peer) {
        return wire::chunks_of(plan, wire::index_of(plan, peer));
    };
    const auto usual = make_plan(rules, {}, 1, {}, callees, {});
    const auto probed = make_plan(rules, {}, 1, {}, callees, {}, ProbedLink{prober_key(9), 200});
    REQUIRE((usual && probed));
    CHECK_FALSE(usual->is_probed);
    REQUIRE(probed->is_probed);
    CHECK(chunks_of(probed->plan, prober_key(9)) > chunks_of(usual->plan, prober_key(9)));
    CHECK(probed->expected > usual->expected);
    CHECK(probed->expected < 2 * usual->expected);
    CHECK_FALSE(
        make_plan(rules, {}, 1, {}, callees, {}, ProbedLink{prober_key(200), 200})->is_probed);
    rules.elements = 50'000;  // a round far below a second
    CHECK_FALSE(
        make_plan(rules, {}, 1, {}, callees, {}, ProbedLink{prober_key(9), 200})->is_probed);
}

}  // namespace
}  // namespace dedloc::round
