// A volunteer's machine is left alone within a second, however long a micro-batch takes.
#include <sys/resource.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "tests/integration/local_swarm.hpp"

namespace dedloc::test {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr auto kLook = std::chrono::milliseconds{10};  ///< time between two looks
constexpr std::size_t kIdleLooks = 30;                 ///< looks that a machine at rest passes
constexpr double kIdleShare = 0.05;  ///< share of a core; the backbone runs here too

/// Processor time that this process has used.
Seconds used() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return Seconds{static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6};
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Waits until the process has used half a core for a while; false after a minute.
bool computes() {
    constexpr Seconds kWhile{0.2};
    const auto deadline = Clock::now() + std::chrono::minutes{1};
    while (Clock::now() < deadline) {
        const Seconds before = used();
        std::this_thread::sleep_for(kWhile);
        if (used() - before > kWhile / 2) return true;
    }
    return false;
}

/// Times after a suspension.
struct Rest {
    Seconds idle{};    ///< until the process used no processor any more
    Seconds silent{};  ///< until nothing was sent any more, to 0.2 s
};

/// Watches the machine until it has been at rest for 0.3 s, at most for 10 s.
Rest rest_of(const PlayedRuntime& runtime) {
    const auto begin = Clock::now();
    std::vector<Seconds> times{Seconds{0}};
    std::vector<Seconds> processor{used()};
    std::uint64_t sent = runtime.sent();
    Rest rest;
    while (times.back() < Seconds{10}) {
        std::this_thread::sleep_for(kLook);
        times.push_back(Clock::now() - begin);
        processor.push_back(used());
        if (runtime.sent() != sent) rest.silent = times.back();
        sent = runtime.sent();
        if (times.size() <= kIdleLooks || times.back() < rest.silent + Seconds{0.3}) continue;
        const std::size_t from = times.size() - 1 - kIdleLooks;
        const Seconds window = times.back() - times[from];
        rest.idle = times[from];
        if (processor.back() - processor[from] < kIdleShare * window) return rest;
    }
    return rest;
}

TEST_CASE("a trainer is out of a round within a second, fifty times, in micro-batches of 20 s",
          "[.slow][boinc][integration]") {
    constexpr std::uint64_t kLongMicroBatch = 6;
    constexpr int kSuspensions = 50;
    formats::RunFile run = tiny_run({.vocabulary = 30'000,
                                     .width = 768,
                                     .layers = 12,
                                     .length = 512,
                                     .embedding = 128,
                                     .heads = 12});
    run.steps = 1'000'000;
    run.target_batch = kLongMicroBatch;
    const std::vector<formats::Shard> shards{skewed_shard(run, 1, 200)};
    Witness witness;
    const LocalBackbone backbone{run, witness};
    LocalSeat seat{run,
                   training_worker(run, albert_task(run, shards), {.micro_batch = kLongMicroBatch}),
                   "only_0"};
    REQUIRE(computes());
    const auto began = Clock::now();
    REQUIRE(witness.wait_for(std::chrono::minutes{10},
                             [](const Witness& w) { return !w.commits().empty(); }));
    const Seconds micro_batch = Clock::now() - began;

    Random random{1};
    std::vector<Rest> rests;
    for (int i = 0; i < kSuspensions; ++i) {
        REQUIRE(computes());
        std::this_thread::sleep_for(Seconds{2 * random.uniform()});
        seat.runtime().suspend(true);
        rests.push_back(rest_of(seat.runtime()));
        seat.runtime().suspend(false);
    }
    const auto worst = [&](Seconds Rest::*time) {
        Seconds longest{};
        for (const Rest& rest : rests) longest = std::max(longest, rest.*time);
        return longest;
    };
    std::printf(
        "micro-batches of %.0f s, %d suspensions: no computing after %.2f s, silent after %.2f s "
        "at most\n",
        micro_batch.count(), kSuspensions, worst(&Rest::idle).count(),
        worst(&Rest::silent).count());
    CHECK(worst(&Rest::idle) <= Seconds{1});
    CHECK(worst(&Rest::silent) <= Seconds{1});
    // It was no interruption between two micro-batches.
    CHECK(micro_batch > Seconds{5});
    CHECK(witness.wait_for(std::chrono::minutes{10},
                           [](const Witness& w) { return w.commits().size() > 1; }));
}

}  // namespace
}  // namespace dedloc::test
