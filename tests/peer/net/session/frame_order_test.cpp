// Frames that several flows bring out of order.
#include "peer/net/session/frame_order.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <numeric>
#include <vector>

#include "peer/base/random.hpp"

namespace dedloc::net {
namespace {

constexpr std::size_t kBytes = 100;

SharedBytes frame_of(std::uint32_t number) {
    Buffer bytes(kBytes);
    bytes[0] = static_cast<std::byte>(number);
    bytes[1] = static_cast<std::byte>(number >> 8);
    return std::make_shared<const Buffer>(std::move(bytes));
}

/// Numbers in which no frame comes more than `distance` places too early.
std::vector<std::uint32_t> shuffled(std::uint32_t count, std::uint32_t distance, Random& random) {
    std::vector<std::uint32_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0);
    for (std::uint32_t k = 0; k + 1 < count; ++k) {
        const auto other = k + random.below(std::min(distance, count - k));
        std::swap(numbers[k], numbers[other]);
    }
    return numbers;
}

TEST_CASE("frames of several flows are delivered in order", "[net]") {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        Random random(seed);
        ReceivedFrames received(std::size_t{1} << 20);
        std::uint32_t next = 0;
        for (const std::uint32_t number :
             shuffled(300, 1 + static_cast<std::uint32_t>(seed % 20), random)) {
            REQUIRE(received.take(number, frame_of(number)));
            while (const SharedBytes frame = received.next()) {
                REQUIRE(*frame == *frame_of(next));
                ++next;
            }
        }
        CHECK(next == 300);
    }
}

TEST_CASE("a frame that has come before is refused", "[net]") {
    ReceivedFrames received(10'000);
    REQUIRE(received.take(0, frame_of(0)));
    CHECK_FALSE(received.take(0, frame_of(0)));
    REQUIRE(received.next());
    CHECK_FALSE(received.take(0, frame_of(0)));
    REQUIRE(received.take(2, frame_of(2)));
    CHECK_FALSE(received.take(2, frame_of(2)));
    CHECK_FALSE(received.next());
}

TEST_CASE("what waits for earlier frames is bounded in bytes and in number", "[net]") {
    constexpr std::size_t kLimit = 10 * (kBytes + ReceivedFrames::kOverhead);
    ReceivedFrames received(kLimit);
    std::uint32_t taken = 1;
    while (received.take(taken, frame_of(taken))) ++taken;
    CHECK(taken == 10);
    // The frame that is missing is always accepted.
    REQUIRE(received.take(0, frame_of(0)));
    for (std::uint32_t k = 0; k < taken; ++k) REQUIRE(received.next());
    const auto empty = std::make_shared<const Buffer>();
    CHECK_FALSE(received.take(taken + kLimit / ReceivedFrames::kOverhead, empty));
    CHECK_FALSE(received.take(taken + 0x80000000U, empty));
    CHECK(received.take(taken, frame_of(taken)));
}

TEST_CASE("without a limit every frame must come in order", "[net]") {
    ReceivedFrames received(0);
    CHECK_FALSE(received.take(1, frame_of(1)));
    for (std::uint32_t k = 0; k < 100; ++k) {
        REQUIRE(received.take(k, frame_of(k)));
        REQUIRE(received.next());
    }
    CHECK_FALSE(received.take(99, frame_of(99)));
}

TEST_CASE("frames count as taken when all before them are", "[net]") {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        Random random(seed);
        SentFrames sent;
        for (std::uint32_t k = 0; k < 300; ++k) REQUIRE(sent.add() == k);
        std::vector<bool> is_taken(301);
        std::size_t complete = 0;
        for (const std::uint32_t number :
             shuffled(300, 1 + static_cast<std::uint32_t>(seed % 20), random)) {
            complete += sent.take(number);
            is_taken[number] = true;
            const auto first = std::ranges::find(is_taken, false) - is_taken.begin();
            REQUIRE(complete == static_cast<std::size_t>(first));
        }
        CHECK(complete == 300);
    }
}

}  // namespace
}  // namespace dedloc::net
