// Links: the addresses that a peer dials, and the facts that it learns about linked peers.
#include "peer/membership/links.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <optional>
#include <vector>

#include "tests/peer/membership/links_bench.hpp"

using namespace dedloc;
using namespace dedloc::membership;

namespace {

constexpr std::size_t kMaxDials = wire::kMaxReducers;
constexpr std::size_t kMaxAttempts = 4 * wire::kMaxMembers;

}  // namespace

TEST_CASE("a lost voter is dialled every two seconds without limit", "[membership]") {
    LinksBench bench;
    const OtherEnd voter = bench.introduce(2);
    bench.watch({voter});
    CHECK(bench.dialled_until(bench.now + 3s).empty());
    bench.close(voter);
    const auto dialled = bench.dialled_until(bench.now + 1h);
    REQUIRE(dialled.size() > 3);
    CHECK(dialled[0].first == 0s);
    CHECK(dialled[1].first == 1s);
    for (std::size_t k = 2; k < dialled.size(); ++k) {
        REQUIRE(dialled[k].first - dialled[k - 1].first == 2s);
        REQUIRE(dialled[k].second == endpoint_of(2));
    }
    CHECK(dialled.size() == 1 + 1 + (3'600 - 1) / 2);
    SECTION("until it is back") {
        bench.introduce(2);
        CHECK(bench.dialled_until(bench.now + 1min).empty());
    }
    SECTION("until the project has appointed other voters") {
        bench.watch({bench.introduce(3)});
        bench.now += 1ns;
        CHECK(bench.dialled_until(bench.now + 3s).empty());
    }
    SECTION("and again after another loss") {
        bench.close(bench.introduce(2));
        CHECK(bench.dialled_until(bench.now + 20s).size() >= 10);
    }
}

TEST_CASE("only voters that can be dialled are dialled again", "[membership]") {
    LinksBench bench;
    const OtherEnd voter = bench.introduce(2);
    const OtherEnd hidden = bench.introduce(3, {}, 0);
    const OtherEnd member = bench.introduce(4);
    bench.watch({voter, hidden});
    for (const OtherEnd& end : {hidden, member}) bench.close(end);
    CHECK(bench.dialled_until(bench.now + 1min).empty());
}

TEST_CASE("a peer that left the swarm dials the voters after its return", "[membership]") {
    LinksBench bench;
    bench.watch({bench.introduce(2)});
    bench.links.leave_all(bench.actions);
    CHECK(bench.links.known().empty());
    const auto dialled = bench.dialled_until(bench.now);
    REQUIRE(dialled.size() == 1);
    CHECK(dialled[0].second == endpoint_of(2));
}

TEST_CASE("a peer introduces itself once on each link, and is challenged once", "[membership]") {
    LinksBench bench;
    OtherEnd end = bench.introduce(2);
    CHECK(bench.links.take_newcomers().size() == 1);
    SECTION("Hello") {
        wire::Hello hello;
        hello.oldest_protocol = wire::kOldestProtocol;
        hello.newest_protocol = wire::kNewestProtocol;
        hello.session = 77;
        CHECK_FALSE(bench.hears(end, hello));
    }
    SECTION("Challenge") {
        CHECK_FALSE(bench.hears(end, wire::Challenge{}));
        CHECK(bench.closes().empty());
        CHECK_FALSE(bench.hears(end, wire::Challenge{}));
    }
    CHECK(bench.closes() == std::vector{end.link});
    CHECK(bench.links.take_newcomers().empty());
}

TEST_CASE("a voter that has said Leave is dialled again", "[membership]") {
    LinksBench bench;
    const OtherEnd voter = bench.introduce(2);
    bench.watch({voter});
    bench.links.drop(voter.peer(), bench.actions);
    CHECK(bench.links.find(voter.peer()) == nullptr);
    CHECK(bench.dialled_until(bench.now + 5s).size() == 4);
}

TEST_CASE("messages of other peers never cause a dial", "[membership]") {
    LinksBench bench;
    OtherEnd voter = bench.introduce(2);
    OtherEnd member = bench.introduce(3, {}, 0);
    bench.watch({voter});
    wire::Heartbeat heartbeat;
    heartbeat.may_vote = true;
    heartbeat.term = {.number = 9, .coordinator = test_key(7).public_key()};
    bench.actions.clear();
    for (OtherEnd* end : {&voter, &member}) {
        for (std::uint64_t step = 0; step < 40; ++step) {
            CHECK(bench.links.receive(bench.now, end->says(0, StepIndex{step}, heartbeat),
                                      bench.actions));
            bench.links.advance(bench.now, bench.actions);
        }
    }
    CHECK(tests::all_of<action::Dial>(bench.actions).empty());
    CHECK(tests::all_of<action::Close>(bench.actions).empty());
}

TEST_CASE("unanswered dials are limited, and a lost voter gets the next free one", "[membership]") {
    LinksBench bench;
    const OtherEnd voter = bench.introduce(2);
    bench.watch({voter});
    CHECK(bench.dials(endpoints(300, 400)) == kMaxDials);
    CHECK(bench.dials(endpoints(300, 400)) == 0);
    bench.close(voter);
    bench.actions.clear();
    bench.links.advance(bench.now, bench.actions);
    CHECK(tests::all_of<action::Dial>(bench.actions).empty());
    // Any answer frees a dial: a link, or a failure.
    bench.links.dial_failed(bench.now, {.remote = endpoint_of(300)}, bench.actions);
    bench.now += 1s;
    bench.actions.clear();
    bench.links.advance(bench.now, bench.actions);
    const auto dialled = tests::all_of<action::Dial>(bench.actions);
    REQUIRE(dialled.size() == 1);
    CHECK(dialled[0].remote == endpoint_of(2));
    CHECK(bench.dials(endpoints(600, 10)) == 0);
    bench.links.opened(bench.now,
                       {.link = LinkId{900}, .remote = endpoint_of(301), .dialled = true},
                       bench.actions);
    CHECK(bench.dials(endpoints(600, 10)) == 1);
    // A link that the other end has opened does not answer a dial of ours.
    bench.introduce(9);
    CHECK(bench.dials(endpoints(620, 10)) == 0);
}

TEST_CASE("a full list of addresses forgets the one that has failed most often", "[membership]") {
    LinksBench bench;
    const auto fail = [&](std::size_t k) {
        bench.links.dial_failed(bench.now, {.remote = endpoint_of(k)}, bench.actions);
    };
    for (std::size_t k = 0; k < kMaxAttempts; ++k) {
        REQUIRE(bench.dials({endpoint_of(k)}) == 1);
        fail(k);
    }
    bench.now += 1s;
    REQUIRE(bench.dials({endpoint_of(77)}) == 1);
    fail(77);
    CHECK(bench.dials({endpoint_of(77)}) == 0);  // it backs off
    CHECK(bench.dials({endpoint_of(kMaxAttempts)}) == 1);
    CHECK(bench.dials({endpoint_of(77)}) == 1);  // forgotten, so it does not back off
}

TEST_CASE("an address is dialled with a backoff of up to 32 seconds", "[membership]") {
    LinksBench bench;
    std::vector<Duration> waits;
    TimePoint last = bench.now;
    while (waits.size() < 9) {
        if (bench.dials({endpoint_of(5)}) == 1) {
            waits.push_back(bench.now - last);
            last = bench.now;
            bench.links.dial_failed(bench.now, {.remote = endpoint_of(5)}, bench.actions);
        }
        bench.now += 1s;
    }
    CHECK(waits == std::vector<Duration>{0s, 1s, 2s, 4s, 8s, 16s, 32s, 32s, 32s});
}

TEST_CASE("a peer's user and device limit come from its ticket", "[membership]") {
    LinksBench bench;
    const auto known_of = [&](std::uint64_t user, std::uint64_t figure, std::uint8_t n) {
        event::LinkOpened opened;
        opened.user = user;
        opened.max_samples_per_second = figure;
        return *bench.links.find(bench.introduce(n, opened).peer());
    };
    const Known known = known_of(7, 400, 2);
    CHECK(known.user == 7);
    CHECK(known.max_samples_per_second == 400);
    const Known other = known_of(0, 0, 3);
    CHECK(other.user == 0);
    CHECK(other.max_samples_per_second == bench.config.rules.max_samples_per_second);
    // A later link shows a later ticket.
    bench.now += 10s;
    CHECK(known_of(8, 500, 2).user == 8);
    CHECK(bench.links.find(test_key(2).public_key())->max_samples_per_second == 500);
}

TEST_CASE(
    "the directory's addresses are dialled up to 64 peers, and beyond until a voter is linked",
    "[membership]") {
    LinksBench bench;
    OtherEnd voter = bench.introduce(2);
    bench.watch({voter});
    for (std::uint8_t n = 3; n < 65; ++n) bench.introduce(n);
    REQUIRE(bench.links.known().size() == kMeshLimit - 1);
    CHECK(bench.dials(endpoints(300, 1)) == 1);
    bench.introduce(65);
    CHECK(bench.dials(endpoints(301, 1)) == 0);
    bench.close(voter);
    bench.introduce(66);
    CHECK(bench.dials(endpoints(301, 3)) == 3);
}

TEST_CASE("a peer's address is the host of its link with the port where it listens",
          "[membership]") {
    LinksBench bench;
    const auto endpoint = [&](std::uint8_t n, bool dialled, std::uint16_t listening) {
        event::LinkOpened opened;
        opened.dialled = dialled;
        return bench.links.find(bench.introduce(n, opened, listening).peer())->endpoint;
    };
    CHECK(endpoint(2, false, 5'000) == Endpoint{endpoint_of(2).host, 5'000});
    CHECK(endpoint(3, true, 5'000) == endpoint_of(3));  // the address that was dialled
    CHECK(bench.dials({{endpoint_of(2).host, 5'000}, endpoint_of(3), {"10.9.9.9", 0}}) == 0);
    CHECK(bench.dials({endpoint_of(2)}) == 1);
}

TEST_CASE("a peer that is found at an IPv4 and an IPv6 address is dialled once at each",
          "[membership]") {
    LinksBench bench;
    const Endpoint v4 = endpoint_of(2);
    const Endpoint v6{"2001:db8::2", kPort};
    for (const bool is_v4_first : {true, false}) {
        CHECK(bench.dials({v4, v6}) == 2);
        event::LinkOpened first{.link = {}, .remote = is_v4_first ? v4 : v6, .dialled = true};
        event::LinkOpened second{.link = {}, .remote = is_v4_first ? v6 : v4, .dialled = true};
        const auto one = bench.introduce(2, first);
        CHECK(bench.links.find(one.peer())->endpoint == first.remote);
        const auto other = bench.introduce(2, second);
        CHECK(bench.links.find(one.peer())->endpoint == v4);
        bench.now += 60s;
        CHECK(bench.dials({v4, v6}) == 0);
        CHECK_FALSE(bench.links.closed(bench.now, {.link = one.link}, bench.actions));
        bench.close(other);
        bench.now += 60s;
    }
}

TEST_CASE("a heartbeat changes the port of a peer, but not its host", "[membership]") {
    LinksBench bench;
    auto end = bench.introduce(2);
    const auto endpoint = [&] { return bench.links.find(end.peer())->endpoint; };
    const auto beat = [&](std::optional<std::uint16_t> port) {
        wire::Heartbeat heartbeat;
        heartbeat.listening_port = port;
        CHECK(bench.hears(end, heartbeat));
    };
    beat(std::nullopt);  // an older peer
    CHECK(endpoint() == endpoint_of(2));
    beat(0);
    CHECK(endpoint() == Endpoint{endpoint_of(2).host, 0});
    beat(std::nullopt);
    CHECK(endpoint().port == 0);
    beat(5'000);
    CHECK(endpoint() == Endpoint{endpoint_of(2).host, 5'000});
    // This peer does not know the port of its router, at which it was dialled.
    event::LinkOpened dialled{.link = {}, .remote = {endpoint_of(3).host, 7'000}, .dialled = true};
    end = bench.introduce(3, dialled, kPort);
    beat(kPort);
    CHECK(endpoint() == dialled.remote);
    beat(0);
    CHECK(endpoint().port == 0);
}

TEST_CASE("a peer that sends too many messages loses its links until it has waited",
          "[membership]") {
    LinksBench bench;
    OtherEnd loud = bench.introduce(2);
    OtherEnd quiet = bench.introduce(3);
    const bool are_heartbeats = GENERATE(true, false);
    const double burst = are_heartbeats ? kHeartbeats.burst : kMessages.burst;
    const auto says = [&] {
        return are_heartbeats ? bench.hears(loud, wire::Heartbeat{})
                              : bench.hears(loud, wire::Call{});
    };
    for (int sent = 0; sent < static_cast<int>(burst); ++sent) REQUIRE(says());
    CHECK_FALSE(says());
    CHECK(bench.closes() == std::vector{loud.link});
    CHECK(tests::all_of<action::Note>(bench.actions).back().suspect == loud.peer());
    CHECK(bench.hears(quiet, wire::Heartbeat{}));
    SECTION("a new link does not help") {
        (void)bench.links.closed(bench.now, {.link = loud.link}, bench.actions);
        loud = bench.introduce(2);
        CHECK_FALSE(says());
    }
    SECTION("time does") {
        (void)bench.links.closed(bench.now, {.link = loud.link}, bench.actions);
        bench.now += 1s;
        loud = bench.introduce(2);
        CHECK(says());
    }
}

TEST_CASE("a trainer that takes no averages is not let in", "[membership]") {
    LinksBench bench;
    OtherEnd end = bench.open(2);
    wire::Hello hello = tests::answer_to_challenge(bench.actions, end.link);
    hello.role = GENERATE(Role::kTrainer, Role::kAggregator);
    hello.receives = false;
    CHECK_FALSE(bench.hears(end, hello));
    const bool is_trainer = hello.role == Role::kTrainer;
    CHECK((bench.links.find(end.peer()) == nullptr) == is_trainer);
    CHECK(bench.closes().size() == (is_trainer ? 1 : 0));
    if (!is_trainer) return;
    CHECK(tests::all_of<action::Note>(bench.actions).back().suspect == end.peer());
}
