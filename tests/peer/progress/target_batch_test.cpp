#include "peer/progress/target_batch.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/progress/throughput.hpp"

namespace dedloc::progress {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{1h};

PeerKey key(std::size_t number) {
    PeerKey key;
    key.bytes[0] = static_cast<std::byte>(number & 0xFF);
    key.bytes[1] = static_cast<std::byte>(number >> 8);
    return key;
}

Duration seconds(double count) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(count));
}

TargetBatch batch_of(std::uint64_t target) {
    return TargetBatch({.target = Samples{target}, .heartbeat = 1s});
}

/// One trainer: micro-batches of one size that take about the same time each.
struct Trainer {
    Trainer(Random& random, TimePoint begin)
        : micro_batch(1 + random.below(64)),
          typical(seconds(0.05 + 4 * random.uniform() * random.uniform())),
          latency(seconds(0.005 + 0.1 * random.uniform())),
          reports_at(begin + seconds(random.uniform())) {}

    /// Computes until the first end of a micro-batch after `until`.
    void compute(Random& random, TimePoint until) {
        while (finished.empty() || finished.back() <= until) {
            const TimePoint from = finished.empty() ? begun : finished.back();
            finished.push_back(from + seconds(std::chrono::duration<double>(typical).count() *
                                              (0.9 + 0.2 * random.uniform())));
        }
    }
    std::size_t finished_by(TimePoint time) const {
        return static_cast<std::size_t>(std::ranges::upper_bound(finished, time) -
                                        finished.begin());
    }
    void begin(TimePoint time) {
        begun = time;
        counted = 0;
        finished.clear();
        speed.resume(time);
    }
    /// The samples in a heartbeat sent at `time`.
    Samples report(Random& random, TimePoint time) {
        compute(random, time);
        for (; counted < finished_by(time); ++counted) {
            speed.add(finished[counted], Samples{micro_batch});
        }
        return Samples{counted * micro_batch};
    }
    /// Samples that it joins with when called at `call`, its current micro-batch finished.
    std::uint64_t joins_with(Random& random, TimePoint call) {
        compute(random, call + latency);
        return micro_batch * (finished_by(call + latency) + 1);
    }

    std::uint64_t micro_batch;
    Duration typical;
    Duration latency;
    TimePoint reports_at;  ///< sent; arrives `latency` later
    TimePoint begun;
    std::size_t counted = 0;
    std::vector<TimePoint> finished;
    Throughput speed;
};

struct Fleet {
    explicit Fleet(std::uint64_t seed) : random(seed), batch({.target = make(), .heartbeat = 1s}) {}

    Samples make() {
        double rate = 0;
        for (std::uint64_t count = 10 + random.below(91); count > 0; --count) {
            trainers.emplace_back(random, kStart);
            const Trainer& made = trainers.back();
            micro_batches += made.micro_batch;
            rate += static_cast<double>(made.micro_batch) /
                    std::chrono::duration<double>(made.typical).count();
        }
        // A step of 5 to 60 s, and at least two micro-batches each.
        target = static_cast<std::uint64_t>(rate * (5 + 55 * random.uniform())) + 2 * micro_batches;
        return Samples{target};
    }
    /// When a step that begins at `now` is called.
    TimePoint play(StepIndex step, TimePoint now) {
        batch.begin(step);
        for (Trainer& trainer : trainers) trainer.begin(now);
        while (true) {
            const auto next = std::ranges::min_element(trainers, {}, [](const Trainer& trainer) {
                return trainer.reports_at + trainer.latency;
            });
            const TimePoint arrival = next->reports_at + next->latency;
            const TimePoint reached = batch.reached_at(now);
            if (reached <= arrival) {
                CHECK(batch.estimate(reached) >= Samples{target});
                return reached;
            }
            now = std::max(now, arrival);
            const auto index = static_cast<std::size_t>(next - trainers.begin());
            batch.report(key(index), now, step, next->report(random, next->reports_at),
                         next->speed.samples_per_second());
            next->reports_at += 1s;
        }
    }

    Random random;
    std::vector<Trainer> trainers;
    std::uint64_t micro_batches = 0;
    std::uint64_t target = 0;
    TargetBatch batch;
};

}  // namespace

TEST_CASE("a peer is extrapolated at its own rate, and not for long", "[progress]") {
    auto batch = batch_of(1000);
    batch.begin(StepIndex{7});
    CHECK(batch.reached_at(kStart) == kNever);
    batch.report(key(1), kStart, StepIndex{7}, Samples{600}, 200);
    batch.report(key(2), kStart, StepIndex{7}, Samples{50}, 100);
    CHECK(batch.reported() == Samples{650});
    CHECK(batch.estimate(kStart) == Samples{650});
    CHECK(batch.estimate(kStart + 500ms) == Samples{800});
    CHECK(batch.estimate(kStart + 1h) == Samples{1100});
    // 350 missing at 300 a second.
    CHECK(batch.reached_at(kStart) - (kStart + 1166667us) < 1us);
    CHECK(batch.estimate(batch.reached_at(kStart)) == Samples{1000});
    CHECK(batch.reached_at(kStart + 1h) == kStart + 1h);
    batch.forget(key(1));
    CHECK(batch.estimate(kStart + 1h) == Samples{200});
    CHECK(batch.reached_at(kStart) == kNever);
}

TEST_CASE("reports on another step wait for that step", "[progress]") {
    auto batch = batch_of(10);
    batch.begin(StepIndex{7});
    batch.report(key(1), kStart, StepIndex{8}, Samples{6}, 1);
    batch.report(key(2), kStart, StepIndex{6}, Samples{60}, 1);
    CHECK(batch.estimate(kStart) == Samples{0});
    batch.begin(StepIndex{8});
    CHECK(batch.estimate(kStart) == Samples{6});
    batch.report(key(2), kStart, StepIndex{8}, Samples{4}, 1);
    CHECK(batch.reached_at(kStart) == kStart);
}

TEST_CASE("a slow peer's micro-batch at hand counts by the time since its count rose",
          "[progress]") {
    auto batch = batch_of(1000);
    batch.begin(StepIndex{0});
    // Micro-batches of 40 samples in 10 s.
    for (int second = 0; second <= 26; ++second) {
        const auto count = static_cast<std::uint64_t>(second / 10 * 40);
        batch.report(key(1), kStart + second * 1s, StepIndex{0}, Samples{count}, 4);
    }
    // The count rose between 19 and 20 s, so on average at 19.5 s.
    CHECK(batch.estimate(kStart + 26s) == Samples{80 + 26});
    // Overdue: at most the micro-batch, and the samples of the next one and a half heartbeats.
    for (int second = 27; second <= 60; ++second) {
        batch.report(key(1), kStart + second * 1s, StepIndex{0}, Samples{80}, 4);
    }
    CHECK(batch.estimate(kStart + 1h) == Samples{80 + 40 + 6});
}

TEST_CASE("negative, infinite and NaN rates do no harm", "[progress]") {
    auto batch = batch_of(1000);
    batch.begin(StepIndex{0});
    std::size_t peer = 0;
    for (const double rate : {std::numeric_limits<double>::quiet_NaN(), -5.0, -1e300}) {
        batch.report(key(++peer), kStart, StepIndex{0}, Samples{10}, rate);
    }
    CHECK(batch.estimate(kStart + 1h) == Samples{30});
    batch.report(key(++peer), kStart, StepIndex{0}, Samples{10},
                 std::numeric_limits<double>::infinity());
    CHECK(batch.reached_at(kStart) < kStart + 1ms);
    CHECK(batch.estimate(kStart + 1h) < Samples{3'000'000'000});
}

TEST_CASE("the samples of past rounds correct the time of the next call", "[progress]") {
    auto batch = batch_of(1000);
    StepIndex step;
    // All peers are 200 ms ahead of their reports, at 500 samples a second.
    for (int round = 0; round < 30; ++round, step = step.next()) {
        batch.begin(step);
        batch.report(key(1), kStart, step, Samples{800}, 500);
        const TimePoint call = batch.reached_at(kStart);
        REQUIRE(call != kNever);
        CHECK(batch.estimate(call) >= Samples{1000});
        batch.called(call);
        const double truth =
            800 + 500 * std::chrono::duration<double>(call - kStart + 200ms).count();
        batch.gathered(Samples{static_cast<std::uint64_t>(truth) + 400});  // half of 800
        if (round >= 20) CHECK(truth == Approx(1000).epsilon(0.02));
    }
    // Reported samples count in full, however large the error was.
    for (int round = 0; round < 30; ++round) batch.gathered(Samples{0});
    batch.report(key(1), kStart, step, Samples{1000}, 500);
    batch.begin(step);
    CHECK(batch.estimate(kStart) == Samples{1000});
    CHECK(batch.reached_at(kStart) == kStart);
    batch.report(key(1), kStart, step, Samples{999}, 500);
    CHECK(batch.estimate(kStart) == Samples{999});
}

TEST_CASE("a batch that grew while the call waited for a straggler corrects nothing",
          "[progress]") {
    auto batch = batch_of(1000);
    TimePoint now = kStart;
    for (StepIndex step; step < StepIndex{10}; step = step.next()) {
        batch.begin(step);
        batch.report(key(1), now, step, Samples{0}, 1'000);
        CHECK(batch.reached_at(now) == now + 1s);
        for (std::uint64_t count = 1; count <= 8; ++count) {
            now += 1s;
            batch.report(key(1), now, step, Samples{count * 1'000}, 1'000);
        }
        batch.called(now);
        // The peer finishes its micro-batch, of which half is expected on top of the estimate.
        batch.gathered(batch.estimate(now) + Samples{500});
    }
}

TEST_CASE("reports of a peer that joins with less are scaled down by the same ratio",
          "[progress]") {
    auto batch = batch_of(1000);
    StepIndex step;
    // The first two peers report the truth.
    const auto round = [&](std::uint64_t reported, std::uint64_t joined) {
        step = step.next();
        batch.begin(step);
        batch.report(key(1), kStart, step, Samples{100}, 0);
        batch.report(key(2), kStart, step, Samples{0}, 0);
        batch.report(key(3), kStart, step, Samples{reported}, 200);
        const Samples counted = batch.reported();
        batch.joined(key(1), Samples{100});
        batch.joined(key(2), Samples{0});
        batch.joined(key(3), Samples{joined});
        return counted.value() - 100;
    };
    CHECK(round(400, 100) == 400);  // it is believed once
    CHECK(round(400, 100) == 100);
    CHECK(batch.estimate(kStart) == Samples{200});
    // Its rate counts for as much less, too: 200 a second for a second and a half.
    CHECK(batch.estimate(kStart + 1h) == Samples{200 + 75});
    CHECK(batch.reached_at(kStart) == kNever);
    SECTION("it wins trust back by joining with what it has reported") {
        std::vector<std::uint64_t> counted;
        for (int k = 0; k < 5; ++k) counted.push_back(round(400, 400));
        CHECK(counted == std::vector<std::uint64_t>{100, 200, 300, 400, 400});
    }
    SECTION("joining with more than it has reported wins back no more trust") {
        CHECK(round(400, 4'000) == 100);
        CHECK(round(400, 400) == 200);
    }
    SECTION("joining with nothing costs all trust, and a little joined does not give it back") {
        CHECK(round(400, 0) == 100);
        CHECK(round(400, 40) == 0);
        CHECK(round(400, 399) == 0);
        CHECK(round(400, 400) == 0);
        CHECK(round(400, 400) == 100);
    }
    SECTION("it stays distrusted after leaving and coming back") {
        batch.forget(key(3));
        CHECK(round(400, 400) == 100);
    }
    SECTION("a peer that joins without a report on this step is not judged") {
        batch.begin(step.next());
        batch.joined(key(3), Samples{0});
        batch.joined(key(4), Samples{0});
        batch.begin(step);
        batch.report(key(4), kStart, step, Samples{50}, 0);
        CHECK(batch.reported() == Samples{100 + 100 + 50});
    }
}

TEST_CASE("a swarm whose trust is low waits for real samples", "[progress]") {
    auto batch = batch_of(1000);
    batch.begin(StepIndex{0});
    batch.report(key(1), kStart, StepIndex{0}, Samples{1'000}, 0);
    CHECK(batch.reached_at(kStart) == kStart);
    batch.joined(key(1), Samples{10});
    batch.begin(StepIndex{1});
    batch.report(key(1), kStart, StepIndex{1}, Samples{1'000}, 1e9);
    CHECK(batch.reported() == Samples{10});
    CHECK(batch.reached_at(kStart) > kStart);
    batch.report(key(2), kStart, StepIndex{1}, Samples{990}, 0);
    CHECK(batch.reached_at(kStart) == kStart);
}

TEST_CASE("a round gets its target and at most one micro-batch more for each peer",
          "[progress][property]") {
    constexpr int kFleets = 50;
    constexpr int kSteps = 8;
    constexpr int kLearning = 4;
    struct Tally {
        int rounds = 0;
        int reached = 0;
        int over = 0;
        double worst = 1;
        double surplus = 0;
    };
    Tally tallies[2];
    for (std::uint64_t seed = 1; seed <= kFleets; ++seed) {
        Fleet fleet(seed);
        TimePoint now = kStart;
        for (std::uint64_t step = 0; step < kSteps; ++step) {
            now = fleet.play(StepIndex{step}, now);
            fleet.batch.called(now);
            std::uint64_t sum = 0;
            for (Trainer& trainer : fleet.trainers) sum += trainer.joins_with(fleet.random, now);
            fleet.batch.gathered(Samples{sum});
            Tally& tally = tallies[step < kLearning ? 0 : 1];
            ++tally.rounds;
            tally.reached += sum >= fleet.target ? 1 : 0;
            tally.over += sum > fleet.target + fleet.micro_batches ? 1 : 0;
            const auto target = static_cast<double>(fleet.target);
            tally.worst = std::min(tally.worst, static_cast<double>(sum) / target);
            tally.surplus +=
                (static_cast<double>(sum) - target) / static_cast<double>(fleet.micro_batches);
            now += 2s;
        }
    }
    for (const Tally& tally : tallies) {
        std::printf(
            "%s: target reached in %d of %d rounds (worst: %.4f of it), over by more than a "
            "micro-batch a peer in %d, on average by %.2f micro-batches a peer\n",
            &tally == tallies ? "first rounds" : "later rounds", tally.reached, tally.rounds,
            tally.worst, tally.over, tally.surplus / tally.rounds);
        CHECK(tally.reached >= tally.rounds * 99 / 100);
        CHECK(tally.worst > 0.99);
    }
    CHECK(tallies[1].over == 0);
}

}  // namespace dedloc::progress
