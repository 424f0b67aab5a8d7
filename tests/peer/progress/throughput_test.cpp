#include "peer/progress/throughput.hpp"

#include <catch2/catch.hpp>

#include "peer/base/random.hpp"

namespace dedloc::progress {

using namespace std::chrono_literals;

TEST_CASE("a steady pace is measured exactly, whatever the intervals", "[progress]") {
    Random random{3};
    Throughput speed;
    TimePoint now{5s};
    CHECK(speed.samples_per_second() == 0);
    speed.resume(now);
    for (int i = 0; i < 100; ++i) {
        const std::uint64_t samples = 1 + random.below(16);
        now += samples * 100ms;
        speed.add(now, Samples{samples});
        CHECK(speed.samples_per_second() == Approx(10));
    }
}

TEST_CASE("pauses and sleep do not lower the speed", "[progress]") {
    Throughput speed;
    TimePoint now{5s};
    speed.resume(now);
    for (int i = 0; i < 20; ++i) speed.add(now += 500ms, Samples{8});
    CHECK(speed.samples_per_second() == Approx(16));
    // A round, with resume().
    speed.resume(now += 60s);
    speed.add(now += 500ms, Samples{8});
    CHECK(speed.samples_per_second() == Approx(16));
    // Eight hours of sleep within a micro-batch, without resume().
    speed.add(now += 8h, Samples{8});
    CHECK(speed.samples_per_second() > 12);
    for (int i = 0; i < 20; ++i) speed.add(now += 500ms, Samples{8});
    CHECK(speed.samples_per_second() == Approx(16).epsilon(0.1));
}

TEST_CASE("a changed pace is noticed within a few memories", "[progress]") {
    Throughput speed{10s};
    TimePoint now{5s};
    speed.resume(now);
    for (int i = 0; i < 100; ++i) speed.add(now += 1s, Samples{40});
    for (int i = 0; i < 10; ++i) speed.add(now += 4s, Samples{40});
    CHECK(speed.samples_per_second() == Approx(10).epsilon(0.1));
    for (int i = 0; i < 40; ++i) speed.add(now += 1s, Samples{40});
    CHECK(speed.samples_per_second() == Approx(40).epsilon(0.1));
}

TEST_CASE("reports at the same time do not divide by zero", "[progress]") {
    Throughput speed;
    speed.add(TimePoint{1s}, Samples{5});  // no start time is known: does not count
    CHECK(speed.samples_per_second() == 0);
    speed.add(TimePoint{1s}, Samples{5});
    CHECK(speed.samples_per_second() == 0);
    speed.add(TimePoint{2s}, Samples{5});
    CHECK(speed.samples_per_second() == Approx(10).epsilon(0.05));
}

}  // namespace dedloc::progress
