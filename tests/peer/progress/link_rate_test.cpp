#include "peer/progress/link_rate.hpp"

#include <catch2/catch.hpp>

#include "peer/base/random.hpp"

namespace dedloc::progress {
namespace {

using namespace std::chrono_literals;

constexpr Bytes kFrame{262'144};

/// A round of `frames` over a link of this rate, which waits `idle` in the middle.
TimePoint play(LinkRate& rate, TimePoint now, double bytes_per_second, int frames, Duration idle,
               Random& random) {
    rate.begin(now);
    for (int i = 0; i < frames; ++i) {
        if (i == frames / 2) now += idle;
        const double jitter = 0.95 + 0.1 * random.uniform();
        now += std::chrono::duration_cast<Duration>(std::chrono::duration<double>(
            static_cast<double>(kFrame.value()) / bytes_per_second * jitter));
        rate.carried(now, kFrame);
    }
    rate.end(now);
    return now + 10s;
}

}  // namespace

TEST_CASE("a link's rate is found from frames, with and without waits", "[progress]") {
    Random random{1};
    for (const double truth : {1e5, 2.5e6, 12.5e6, 125e6}) {
        LinkRate rate;
        CHECK(rate.estimate() == std::nullopt);
        TimePoint now{1h};
        const int frames = 40 + static_cast<int>(3 * truth / static_cast<double>(kFrame.value()));
        for (int round = 0; round < 3; ++round) now = play(rate, now, truth, frames, 3s, random);
        CHECK(static_cast<double>(rate.estimate()->value()) == Approx(truth).epsilon(0.05));
    }
}

TEST_CASE("a link that got slower is noticed within a few rounds, a faster one too", "[progress]") {
    Random random{2};
    LinkRate rate{Bandwidth{12'500'000}};
    TimePoint now{1h};
    for (int round = 0; round < 5; ++round) now = play(rate, now, 3e6, 100, 0s, random);
    CHECK(rate.estimate() < Bandwidth{3'300'000});
    CHECK(rate.estimate() > Bandwidth{2'800'000});
    for (int round = 0; round < 5; ++round) now = play(rate, now, 12e6, 100, 0s, random);
    CHECK(rate.estimate() > Bandwidth{11'000'000});
    CHECK(rate.estimate() < Bandwidth{12'700'000});
}

TEST_CASE("a link that waits for others in rounds that take as long as planned is not slow",
          "[progress]") {
    LinkRate rate{Bandwidth{12'500'000}};
    TimePoint now{1h};
    const auto round_of = [&](double bytes_per_second, LinkRate::Outcome outcome) {
        rate.begin(now);
        for (int i = 0; i < 60; ++i) {
            now += std::chrono::duration_cast<Duration>(std::chrono::duration<double>(
                static_cast<double>(kFrame.value()) / bytes_per_second));
            rate.carried(now, kFrame);
        }
        rate.end(now, outcome);
    };
    for (int k = 0; k < 8; ++k) round_of(1e6, LinkRate::Outcome::kInTime);
    CHECK(rate.estimate() == Bandwidth{12'500'000});
    round_of(1e6, LinkRate::Outcome::kLate);
    CHECK(rate.estimate() == Bandwidth{9'375'000});
    round_of(1e6, LinkRate::Outcome::kCancelled);
    CHECK(rate.estimate()->value() == Approx(1'000'000).epsilon(0.01));
    round_of(3e6, LinkRate::Outcome::kInTime);
    CHECK(rate.estimate()->value() == Approx(2'000'000).epsilon(0.01));
}

TEST_CASE("too little to measure changes nothing", "[progress]") {
    LinkRate rate{Bandwidth{1'000'000}};
    TimePoint now{1h};
    rate.end(now);
    CHECK(rate.estimate() == Bandwidth{1'000'000});
    rate.begin(now);
    rate.carried(now += 1us, kFrame);
    rate.end(now);
    CHECK(rate.estimate() == Bandwidth{1'000'000});
    rate.carried(now += 1s, Bytes{1} + kFrame);  // nothing is queued: does not count
    rate.end(now);
    CHECK(rate.estimate() == Bandwidth{1'000'000});
}

TEST_CASE("data that a buffer takes at once does not count as a fast link", "[progress]") {
    LinkRate rate;
    TimePoint now{1h};
    rate.begin(now);
    for (int i = 0; i < 8; ++i) rate.carried(now, kFrame);
    rate.end(now + 1ms);
    CHECK(rate.estimate() == Bandwidth{8 * kFrame.value() * 20});  // as if in 50 ms
}

TEST_CASE("a buffer that fills at the start of a longer round does not count", "[progress]") {
    LinkRate rate;
    TimePoint now{1h};
    rate.begin(now);
    rate.carried(now, Bytes{4'000'000});
    for (int i = 0; i < 20; ++i) rate.carried(now += 100ms, kFrame);
    rate.end(now);
    CHECK(rate.estimate() == Bandwidth{kFrame.value() * 10});
}

TEST_CASE("time without queued data does not count", "[progress]") {
    LinkRate rate;
    TimePoint now{1h};
    for (int i = 0; i < 8; ++i) {
        rate.begin(now);
        rate.begin(now);
        rate.carried(now += 100ms, kFrame);
        rate.pause(now);
        rate.pause(now += 1h);
    }
    rate.end(now);
    CHECK(rate.estimate() == Bandwidth{kFrame.value() * 10});
}

}  // namespace dedloc::progress
