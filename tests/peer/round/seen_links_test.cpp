// What rounds have shown of links: what counts, for how long, and for how many peers.
#include "peer/round/seen_links.hpp"

#include <catch2/catch.hpp>

#include "tests/peer/wire/samples.hpp"

using namespace dedloc;
using namespace dedloc::round;
using namespace std::chrono_literals;
using tests::test_key;

namespace {

PeerKey key(std::uint8_t n) {
    return test_key(n).public_key();
}

constexpr std::optional<Bandwidth> kClaim{Bandwidth{12'500'000}};

}  // namespace

TEST_CASE("a claim counts until a round contradicts it, and never more than what was seen",
          "[round]") {
    SeenLinks links;
    CHECK(links.upload_of(key(1), kClaim) == kClaim);
    CHECK(links.upload_of(key(1), std::nullopt) == std::nullopt);
    links.on_slow_send(key(1), 1'000'000, 2s);
    CHECK(links.upload_of(key(1), kClaim)->value() == 500'001);
    CHECK(links.upload_of(key(1), std::nullopt)->value() == 500'001);
    CHECK(links.upload_of(key(1), Bandwidth{1'000}) == Bandwidth{1'000});
    CHECK(links.download_of(key(1), kClaim) == kClaim);
    CHECK(links.upload_of(key(2), kClaim) == kClaim);
    links.on_slow_receive(key(1), 1'000'000, 1s);
    CHECK(links.download_of(key(1), kClaim)->value() == 1'000'001);
    links.forget(key(1));
    CHECK(links.upload_of(key(1), kClaim) == kClaim);
}

TEST_CASE("what was seen counts for less after some rounds, and for longer if it is seen again",
          "[round]") {
    SeenLinks links;
    const auto rounds_of_doubt = [&] {
        const auto before = links.upload_of(key(1), kClaim);
        std::uint32_t rounds = 0;
        while (links.upload_of(key(1), kClaim) == before) {
            links.on_decision();
            ++rounds;
        }
        return rounds;
    };
    for (std::uint32_t rounds = SeenLinks::kRounds; rounds <= 64; rounds *= 2) {
        links.on_slow_send(key(1), 1'000'000, 2s);
        CHECK(rounds_of_doubt() == rounds);
        CHECK(links.upload_of(key(1), kClaim)->value() == 1'000'001);
    }
    for (int k = 0; k < 512 * 20; ++k) links.on_decision();
    CHECK(links.upload_of(key(1), kClaim) == kClaim);
}

TEST_CASE("one peer at a time may leave rounds for what was seen", "[round]") {
    SeenLinks links;
    CHECK_FALSE(links.may_leave(key(1)));
    for (std::uint8_t n = 1; n < 9; ++n) links.on_slow_send(key(n), 1'000'000, 2s);
    CHECK(links.may_leave(key(1)));
    for (std::uint8_t n = 2; n < 9; ++n) CHECK_FALSE(links.may_leave(key(n)));
    links.forget(key(1));
    CHECK_FALSE(links.may_leave(key(1)));
    links.on_slow_send(key(2), 1'000'000, 2s);
    CHECK(links.may_leave(key(2)));
}
