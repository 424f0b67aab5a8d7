// When a peer concludes that it cannot follow the swarm.
#include "peer/state/pace.hpp"

#include <catch2/catch.hpp>
#include <chrono>

using namespace dedloc;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kAverage = 1'000'000;
const TimePoint kBegin{1h};

PeerKey voter(std::uint8_t n) {
    PeerKey key;
    key.bytes[0] = std::byte{n};
    return key;
}

/// A peer that has received leaves of 100 kB for so long, one at each interval.
state::Pace receiving(Duration interval, Duration total) {
    state::Pace pace{kAverage};
    for (Duration time{}; time <= total; time += interval) pace.received(kBegin + time, 100'000);
    return pace;
}

}  // namespace

TEST_CASE("a peer that receives averages too slowly is told so by its own measure", "[state]") {
    // An average takes 2 s.
    for (const auto& [round, is_hopeless] :
         {std::pair{1'000ms, true}, std::pair{1'900ms, false}, std::pair{3'000ms, false}}) {
        state::Pace pace = receiving(200ms, 4s);
        CHECK_FALSE(pace.is_hopeless());
        for (std::uint64_t step = 0; step < 3; ++step) {
            CHECK_FALSE(pace.is_hopeless());
            CHECK(pace.round() == Duration{});
            pace.decided(kBegin + static_cast<int>(step) * round, StepIndex{step});
        }
        CHECK(pace.round() == round);
        CHECK(pace.is_hopeless() == is_hopeless);
    }
}

TEST_CASE("the longer a peer has measured, the less it must lag behind to give up", "[state]") {
    const auto after = [](Duration total, Duration round) {
        state::Pace pace = receiving(200ms, total);
        pace.told(voter(1), round);
        return pace.is_hopeless();
    };
    CHECK_FALSE(after(1'800ms, 500ms));
    CHECK(after(2s, 1'200ms));
    CHECK_FALSE(after(2s, 1'300ms));
    CHECK_FALSE(after(3'400ms, 1'500ms));
    CHECK(after(3'600ms, 1'500ms));
    CHECK_FALSE(after(3'600ms, 1'700ms));
}

TEST_CASE("the median of the voters counts until two rounds were seen", "[state]") {
    state::Pace pace = receiving(200ms, 4s);
    pace.told(voter(1), Duration{});
    CHECK_FALSE(pace.is_hopeless());
    pace.told(voter(1), 10ms);
    CHECK(pace.is_hopeless());
    pace.told(voter(2), 5s);
    CHECK_FALSE(pace.is_hopeless());
    pace.told(voter(3), 1s);
    CHECK(pace.is_hopeless());
    for (std::uint64_t step = 0; step < 3; ++step) {
        pace.decided(kBegin + static_cast<int>(step) * 5s, StepIndex{step});
    }
    CHECK_FALSE(pace.is_hopeless());
    pace.forget_steps();
    CHECK_FALSE(pace.is_hopeless());
}
