// Links: handshakes, two links to one peer, failure timeouts, receivers of heartbeats, queues.
#include <catch2/catch.hpp>
#include <chrono>
#include <vector>

#include "tests/peer/membership/links_bench.hpp"

using namespace dedloc;
using namespace dedloc::membership;

namespace {}  // namespace

// --- handshakes and frames ---------------------------------------------------

TEST_CASE("a link says nothing before its handshake, and has a failure timeout for it",
          "[membership]") {
    LinksBench bench;
    const TimePoint start = bench.now;
    OtherEnd impatient = bench.open(2);
    OtherEnd liar = bench.open(3);
    wire::Hello hello = tests::answer_to_challenge(bench.actions, liar.link);
    const OtherEnd silent = bench.open(4);
    const OtherEnd good = bench.introduce(5);
    bench.actions.clear();
    CHECK_FALSE(bench.hears(impatient, wire::Heartbeat{}));
    CHECK(bench.closes() == std::vector{impatient.link});
    hello.nonce.bytes[0] ^= std::byte{1};
    CHECK_FALSE(bench.hears(liar, hello));
    CHECK(bench.closes() == std::vector{impatient.link, liar.link});
    CHECK(bench.links.known().size() == 1);
    bench.watch({});
    const Duration limit = bench.config.rules.failure_timeout;
    CHECK(bench.closed_at(start + limit - 1ns).empty());
    CHECK(bench.closed_at(start + limit).front() == silent.link);
    CHECK(bench.way_to(good.peer()) == good.link);
}

TEST_CASE("a frame that is replayed or speaks for another run or peer closes its link",
          "[membership]") {
    LinksBench bench;
    OtherEnd end = bench.introduce(2);
    CHECK(bench.hears(end, wire::Heartbeat{}));
    bool is_refused = true;
    SECTION("bulk names its contents, so it may be late or repeated") {
        const auto frame = end.says(0, {}, wire::LeafRequest{});
        CHECK(bench.hears(frame));
        CHECK(bench.hears(end, wire::Heartbeat{}));
        CHECK(bench.hears(frame));
        is_refused = false;
    }
    SECTION("replayed") {
        const auto frame = end.says(0, {}, wire::Heartbeat{});
        CHECK(bench.hears(frame));
        CHECK_FALSE(bench.hears(frame));
    }
    SECTION("another peer's") {
        OtherEnd other{.key = test_key(3), .link = end.link, .sequence = 100};
        CHECK_FALSE(bench.hears(other, wire::Heartbeat{}));
    }
    SECTION("of another run") {
        const wire::Message message{.run = {{std::byte{1}}},
                                    .generation = 0,
                                    .step = {},
                                    .sequence = 100,
                                    .sender = end.peer(),
                                    .body = wire::Heartbeat{}};
        CHECK_FALSE(bench.hears({end.link, wire::frame_of(message, &end.key)}));
    }
    CHECK(bench.closes().size() == (is_refused ? 1 : 0));
    // Nothing is read from a link that closes.
    CHECK(bench.hears(end, wire::Heartbeat{}) == !is_refused);
}

// --- two links to a peer -----------------------------------------------------

TEST_CASE("of two links to a peer both ends choose the newest that the smaller key has dialled",
          "[membership]") {
    const auto n = GENERATE(as<std::uint8_t>{}, 2, 3, 4, 5);
    const bool is_ours_first = GENERATE(true, false);
    CAPTURE(int{n}, is_ours_first);
    LinksBench bench;
    bench.watch({});
    const PeerKey peer = test_key(n).public_key();
    const bool is_smaller = test_key(1).public_key() < peer;
    const auto link = [&](bool is_ours) {
        event::LinkOpened opened;
        opened.dialled = is_ours;
        return bench.introduce(n, opened);
    };
    OtherEnd first = link(is_ours_first);
    OtherEnd second = link(!is_ours_first);
    const bool is_first_chosen = is_ours_first == is_smaller;
    CHECK(bench.way_to(peer) == (is_first_chosen ? first : second).link);
    // A newer one that the same end has dialled replaces it.
    OtherEnd third = link(is_smaller);
    CHECK(bench.way_to(peer) == third.link);
    CHECK(bench.links.take_newcomers() == std::vector{peer});
    CHECK(bench.links.take_relinked().empty());
    // Frames on the others are still read; they close later.
    for (OtherEnd* end : {&first, &second, &third}) bench.beat(*end, true);
    const TimePoint retired = bench.now + 2 * bench.config.rules.failure_timeout;
    CHECK(bench.closed_at(retired - 1ns).empty());
    CHECK(bench.closed_at(retired) == std::vector{first.link, second.link});
}

TEST_CASE("when the chosen link closes the other one takes over, and the peer is a newcomer",
          "[membership]") {
    LinksBench bench;
    OtherEnd first = bench.introduce(2);
    const OtherEnd second = bench.introduce(2);
    bench.watch({});
    bench.beat(first, true);
    REQUIRE(bench.way_to(first.peer()) == second.link);
    (void)bench.links.take_newcomers();
    SECTION("the chosen one") {
        CHECK(bench.links.closed(bench.now, {.link = second.link}, bench.actions) == first.peer());
        CHECK(bench.way_to(first.peer()) == first.link);
        CHECK(bench.links.take_newcomers() == std::vector{first.peer()});
        // It is not retired any more.
        CHECK(bench.closed_at(bench.now + 3 * bench.config.rules.failure_timeout).empty());
    }
    SECTION("the retired one") {
        CHECK_FALSE(bench.links.closed(bench.now, {.link = first.link}, bench.actions));
        CHECK(bench.way_to(first.peer()) == second.link);
        CHECK(bench.links.take_newcomers().empty());
    }
}

TEST_CASE("a new link replaces one that has been quiet, whichever end has dialled it",
          "[membership]") {
    LinksBench bench;
    const auto n = GENERATE(as<std::uint8_t>{}, 2, 3, 4, 5);
    event::LinkOpened ours;
    ours.dialled = true;
    const bool is_smaller = test_key(1).public_key() < test_key(n).public_key();
    // The first link is the one that would be chosen.
    const OtherEnd first = bench.introduce(n, is_smaller ? ours : event::LinkOpened{});
    (void)bench.links.take_newcomers();
    const auto second = [&] { return bench.introduce(n, is_smaller ? event::LinkOpened{} : ours); };
    SECTION("not yet quiet") {
        bench.now += 2 * bench.config.rules.heartbeat - 1ns;
        second();
        CHECK(bench.way_to(first.peer()) == first.link);
        CHECK(bench.links.take_relinked().empty());
        CHECK(bench.links.take_newcomers().empty());
    }
    SECTION("quiet for two heartbeats") {
        bench.now += 2 * bench.config.rules.heartbeat;
        CHECK(bench.way_to(second().peer()) != first.link);
        CHECK(bench.links.take_relinked() == std::vector{first.peer()});
        CHECK(bench.links.take_newcomers() == std::vector{first.peer()});
    }
}

TEST_CASE("a peer that has restarted is first lost, then a newcomer", "[membership]") {
    LinksBench bench;
    OtherEnd before = bench.introduce(2);
    bench.beat(before, true);
    CHECK(bench.links.take_newcomers() == std::vector{before.peer()});
    bench.introduce(2);
    CHECK(bench.links.take_restarted().empty());
    const OtherEnd after = bench.introduce(2, {}, kPort, 77);
    CHECK(bench.closes().size() == 2);
    CHECK(bench.links.take_restarted() == std::vector{before.peer()});
    CHECK(bench.links.take_newcomers() == std::vector{before.peer()});
    CHECK(bench.way_to(before.peer()) == after.link);
    CHECK_FALSE(bench.links.find(before.peer())->has_reported);
}

// --- heartbeats and failures -------------------------------------------------

TEST_CASE("a silent peer is lost if one end is a voter or knows no live coordinator",
          "[membership]") {
    LinksBench bench;
    OtherEnd voter = bench.introduce(2);
    OtherEnd led = bench.introduce(3);
    OtherEnd unled = bench.introduce(4);
    bench.watch({voter});
    bench.beat(voter, true);
    bench.beat(led, true);
    bench.beat(unled, false);
    CHECK(bench.links.is_watched(voter.peer()));
    CHECK_FALSE(bench.links.is_watched(led.peer()));
    CHECK(bench.links.is_watched(unled.peer()));
    CHECK_FALSE(bench.links.is_watched_by_voters_only());
    const TimePoint start = bench.now;
    const Duration timeout = bench.config.rules.failure_timeout;
    CHECK(bench.closed_at(start).empty());
    SECTION("voters and unled peers") {
        CHECK(bench.closed_at(start + timeout - 1ns).empty());
        CHECK(bench.closed_at(start + timeout) == std::vector{voter.link, unled.link});
        CHECK(bench.closed_at(start + 10 * timeout).empty());
    }
    SECTION("a message is a sign of life") {
        bench.now += timeout - 1ns;
        for (OtherEnd* end : {&voter, &unled}) bench.beat(*end, true);
        CHECK(bench.links.is_watched_by_voters_only());
        CHECK(bench.closed_at(start + timeout).empty());
        CHECK(bench.closed_at(start + 2 * timeout - 1ns) == std::vector{voter.link});
    }
    SECTION("the timeout does not run before heartbeats are expected") {
        bench.now += 10 * timeout;
        for (OtherEnd* end : {&voter, &unled}) bench.beat(*end, true);
        bench.links.watch({voter.peer()}, 3, false);  // this peer has lost its coordinator
        const TimePoint lost = bench.now;
        CHECK(bench.closed_at(lost).empty());
        CHECK(bench.closed_at(lost + timeout - 1ns).empty());
        CHECK(bench.closed_at(lost + timeout).size() == 3);
    }
}

TEST_CASE("heartbeats go to pairs that watch each other, news to all peers of a small swarm",
          "[membership]") {
    LinksBench bench;
    OtherEnd voter = bench.introduce(2);
    OtherEnd led = bench.introduce(3);
    OtherEnd unled = bench.introduce(4);
    bench.beat(voter, true);
    bench.beat(led, true);
    bench.beat(unled, false);
    const std::vector all{voter.link, led.link, unled.link};
    const std::vector watching{voter.link, unled.link};
    bench.links.watch({voter.peer()}, kMeshLimit, true);
    CHECK(bench.told(false) == watching);
    CHECK(bench.told(true) == all);
    bench.links.watch({voter.peer()}, kMeshLimit + 1, true);
    CHECK(bench.told(true) == watching);
    // A peer without a coordinator sends its heartbeats to every peer.
    bench.links.watch({voter.peer()}, kMeshLimit + 1, false);
    CHECK(bench.told(false) == all);
    // So does a voter.
    bench.links.watch({test_key(1).public_key()}, kMeshLimit + 1, true);
    CHECK(bench.told(false) == all);
}

TEST_CASE("a link has space until its queue holds a window of bytes", "[membership]") {
    LinksBench bench;
    const OtherEnd end = bench.introduce(2);
    while (bench.links.queued_bytes() > 0) bench.links.written({.link = end.link});
    const Frame frame = bench.links.seal({}, wire::Heartbeat{}, wire::LinkKind::kProven);
    const std::uint64_t window = 2 * frame.size();
    REQUIRE(bench.links.send_sealed(end.peer(), frame, bench.actions));
    CHECK(bench.links.has_space(end.peer(), window));
    REQUIRE(bench.links.send_sealed(end.peer(), frame, bench.actions));
    CHECK_FALSE(bench.links.has_space(end.peer(), window));
    CHECK(bench.links.queued_bytes() == window);
    const auto written = bench.links.written({.link = end.link});
    CHECK(written.peer == end.peer());
    CHECK(written.bytes == Bytes{frame.size()});
    CHECK(bench.links.has_space(end.peer(), window));
    // What is queued on a link that closes will never be written.
    bench.close(end);
    CHECK(bench.links.queued_bytes() == 0);
    CHECK_FALSE(bench.links.has_space(end.peer(), window));
}
