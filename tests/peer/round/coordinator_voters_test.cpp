// A coordinator proposes what a majority of the voters can vote for: they take part, and hold its
// average.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/peer/round/coordinator_bench.hpp"

using namespace dedloc;
using namespace dedloc::round;

namespace {

constexpr std::uint64_t kSamples = 48;

/// Three voters, which are 1 to 3, and two trainers.
struct VotersBench : CoordinatorBench {
    VotersBench() : CoordinatorBench(3), first(add(11, kSamples)), second(add(12, kSamples)) {}
    PeerKey voter_key(std::uint8_t n) const { return test_key(n).public_key(); }
    /// Every member but this voter holds the average.
    void all_ready_but(std::uint8_t n, const Digest& average = {}) {
        for (const PeerKey& peer : members_of(last_plan)) {
            if (peer != voter_key(n)) be_ready(peer, average);
        }
    }
    bool may_reduce(const PeerKey& peer) const {
        return std::ranges::count(reducers_of(last_plan), peer) > 0;
    }
    bool has_proposed() const { return !said<wire::Propose>().empty(); }

    const PeerKey first, second;
};

const Digest kOther{{std::byte{7}}};

}  // namespace

TEST_CASE("a round is called with most voters, and planned if they have joined", "[round]") {
    VotersBench bench;
    const auto call = [&] {
        bench.coordinator.on_report(bench.now, bench.self(), bench.step(), Samples{96}, 0);
        bench.advance(1s);
        return bench.said<wire::Call>().size() == 1;
    };
    SECTION("it is not called while most voters hold another state") {
        for (const std::uint8_t n : {std::uint8_t{2}, std::uint8_t{3}})
            bench.hear(bench.end(n), 0, kOther);
        CHECK_FALSE(call());
        bench.hear(bench.end(2), 0);
        CHECK(call());
    }
    SECTION("it is off if most voters do not join") {
        REQUIRE(call());
        for (const PeerKey& peer : {bench.self(), bench.first, bench.second}) bench.join(peer, 32);
        CHECK(bench.said<wire::Plan>().empty());
        bench.advance(bench.config.rules.join_timeout);
        CHECK(bench.said<wire::Plan>().empty());
        CHECK(bench.said<wire::Cancel>().size() == 1);
    }
    SECTION("it goes on without a minority of them") {
        REQUIRE(call());
        for (const PeerKey& peer : {bench.self(), bench.voter_key(2), bench.first, bench.second}) {
            bench.join(peer, 32);
        }
        bench.advance(bench.config.rules.join_timeout);
        CHECK(bench.said<wire::Plan>().size() == 1);
    }
}

TEST_CASE("an average is proposed once most voters hold it", "[round]") {
    VotersBench bench;
    (void)bench.plan(kSamples);
    for (const PeerKey& peer : {bench.self(), bench.first, bench.second}) bench.be_ready(peer);
    bench.lose(3);
    CHECK_FALSE(bench.has_proposed());
    bench.be_ready(bench.voter_key(2));
    CHECK(bench.has_proposed());
}

TEST_CASE("a round that most voters are lost from is off", "[round]") {
    VotersBench bench;
    (void)bench.plan(kSamples);
    bench.lose(2);
    bench.lose(3);
    bench.advance();
    CHECK(bench.said<wire::Cancel>().size() == 1);
}

TEST_CASE("voters that hold different averages reduce without the others", "[round]") {
    VotersBench bench;
    (void)bench.plan(kSamples);
    REQUIRE((bench.may_reduce(bench.first) || bench.may_reduce(bench.second)));
    SECTION("one voter with another average is outvoted") {
        bench.be_ready(bench.voter_key(3), kOther);
        bench.all_ready_but(3);
        CHECK(bench.has_proposed());
    }
    SECTION("two are not") {
        const std::uint32_t attempt = bench.attempt();
        bench.be_ready(bench.voter_key(3), kOther);
        bench.be_ready(bench.voter_key(2), kOther);
        CHECK_FALSE(bench.has_proposed());
        CHECK(bench.attempt() == attempt);  // the coordinator's own average may be theirs
        bench.be_ready(bench.self());
        bench.advance();
        REQUIRE(bench.attempt() == attempt + 1);
        CHECK_FALSE(bench.has_proposed());
        CHECK_FALSE(bench.may_reduce(bench.first));
        CHECK_FALSE(bench.may_reduce(bench.second));
        SECTION("and the round is decided with voters as reducers") {
            bench.all_ready_but(3);
            bench.be_ready(bench.voter_key(3));
            REQUIRE(bench.has_proposed());
            CHECK(bench.said<wire::Propose>().front().attempt == attempt + 1);
        }
        SECTION("if they disagree again, it is off") {
            bench.out = {};
            bench.be_ready(bench.voter_key(2), kOther);
            bench.be_ready(bench.voter_key(3), Digest{{std::byte{8}}});
            bench.be_ready(bench.self());
            CHECK(bench.said<wire::Cancel>().size() == 1);
            SECTION("and the trainers reduce nothing in the next one either") {
                bench.out = {};
                bench.advance(bench.config.rules.heartbeat);
                (void)bench.plan(kSamples);
                CHECK_FALSE(bench.may_reduce(bench.first));
                CHECK_FALSE(bench.may_reduce(bench.second));
            }
        }
    }
}

TEST_CASE("a proposal with too few votes is given up", "[round]") {
    VotersBench bench;
    (void)bench.plan(kSamples);
    bench.all_ready_but(0);
    REQUIRE(bench.has_proposed());
    const Digest proposal = bench.said<wire::Propose>().front().digest;
    REQUIRE_FALSE(bench.accept(1, proposal));
    const Duration limit = 2 * bench.config.rules.failure_timeout;
    bench.advance(limit - 1s);
    CHECK(bench.election.is_leading());
    bench.advance(1s);
    CHECK_FALSE(bench.election.is_leading());
}
