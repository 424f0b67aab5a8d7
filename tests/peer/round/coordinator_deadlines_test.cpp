// How long a planned round waits, and for which members.
#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>

#include "tests/peer/round/coordinator_bench.hpp"

using namespace dedloc;
using namespace dedloc::round;

namespace {

/// How long a coordinator waits that knows links.
const Duration kTimeout = RoundRules{}.coordinator_timeout(1ms);

/// A bench whose members claim what bandwidth they like.
struct LinksBench : CoordinatorBench {
    void join(const PeerKey& peer, std::optional<Bandwidth> link) {
        coordinator.on_join(now, peer, step(),
                            {.term = term(),
                             .contribution_id = 1,
                             .samples = Samples{8},
                             .state = {},
                             .upload = link,
                             .download = link},
                            out);
        advance();
    }
};

}  // namespace

TEST_CASE("a round in which no member is ready by the deadline is called off", "[round]") {
    Planned round;
    const TimePoint deadline = round.coordinator.next_deadline();
    CHECK(deadline == round.now + kTimeout);
    round.advance(deadline - round.now - 1ms);
    CHECK(round.said<wire::Cancel>().empty());
    round.advance(1ms);
    REQUIRE(round.sent<wire::Cancel>().size() == 1);
    CHECK(round.said<wire::Cancel>().front().term == round.term());
    for (const PeerKey& peer : members_of(round.first)) {
        CHECK(std::ranges::count(round.sent<wire::Cancel>().front().to, peer) == 1);
    }
    // What was planned is forgotten, and the next round is called for new reports only.
    for (const PeerKey& peer : members_of(round.first)) round.be_ready(peer);
    CHECK(round.said<wire::Propose>().empty());
    CHECK(round.said<wire::Call>().empty());
}

TEST_CASE("a member that is late while the others are ready is not waited for", "[round]") {
    Planned round;
    for (const std::uint8_t n : Numbers{1, 11, 12}) round.be_ready(key_of(n));
    CHECK(round.said<wire::Propose>().empty());
    round.advance(kTimeout);
    CHECK(round.said<wire::Cancel>().empty());
    // The others hold the average with its samples, so there is nothing to amend.
    CHECK_FALSE(round.amended());
    REQUIRE(round.said<wire::Propose>().size() == 1);
    CHECK(round.said<wire::Propose>().front().attempt == round.first.attempt);
}

TEST_CASE("only the coordinator's own average is proposed, and not before it is here", "[round]") {
    const Digest own = blake2b({});
    Planned round;
    for (const std::uint8_t n : Numbers{11, 12, 13}) round.be_ready(key_of(n));
    round.advance(kTimeout - 1ms);
    CHECK(round.said<wire::Propose>().empty());
    round.be_ready(round.self(), own);
    REQUIRE(round.said<wire::Propose>().size() == 1);
    CHECK(round.said<wire::Propose>().front().average == own);
}

TEST_CASE("members that say they are ready keep no round that is not finished here", "[round]") {
    Planned round;
    for (const std::uint8_t n : Numbers{11, 12, 13}) round.be_ready(key_of(n));
    round.advance(kTimeout);
    CHECK(round.said<wire::Propose>().empty());
    CHECK(round.said<wire::Cancel>().size() == 1);
}

TEST_CASE("the last receivers get half as long again as the others", "[round]") {
    Planned round;
    const TimePoint deadline = round.coordinator.next_deadline();
    round.advance(10s);
    for (const std::uint8_t n : Numbers{11, 12, 13}) round.be_ready(key_of(n));
    CHECK(round.coordinator.next_deadline() == deadline);  // it is not here
    Planned other;
    other.advance(10s);
    for (const std::uint8_t n : Numbers{1, 11, 12}) other.be_ready(key_of(n));
    CHECK(other.coordinator.next_deadline() == other.now + 5s);
    other.advance(5s);
    REQUIRE(other.said<wire::Propose>().size() == 1);
}

TEST_CASE("a link that is slow by its member's claim stops no round of links that are unknown",
          "[round]") {
    LinksBench bench;
    const std::vector<PeerKey> honest{bench.self(), bench.add(11, 96), bench.add(12, 96)};
    const PeerKey liar = bench.add(13, 96);
    bench.advance(1s);
    for (const PeerKey& peer : honest) bench.join(peer, std::nullopt);
    bench.join(liar, Bandwidth{1});
    REQUIRE(bench.said<wire::Plan>().size() == 1);
    CHECK(bench.last_plan.expected < 1min);
    for (const PeerKey& peer : honest) bench.be_ready(peer);
    CHECK(bench.said<wire::Propose>().size() == 1);
}

TEST_CASE("a member that is slow by its claim does not keep those waiting that were cut off",
          "[round]") {
    LinksBench bench;
    const PeerKey liar = bench.add(11, 96);
    bench.advance(1s);
    bench.join(bench.self(), bench.kBandwidth);
    bench.join(liar, Bandwidth{1});
    REQUIRE(bench.said<wire::Plan>().size() == 1);
    bench.be_ready(bench.self());
    // A pair, of which one has a slow link, waits for each other.
    bench.advance(5min);
    CHECK(bench.said<wire::Propose>().empty());
    bench.add(12, 96);
    bench.advance();
    CHECK(bench.coordinator.next_deadline() <= bench.now + 2s);
    bench.advance(2s);
    CHECK(bench.said<wire::Propose>().size() == 1);
}
