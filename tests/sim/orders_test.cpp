// How soon the project's voters change in a swarm that trains, in virtual time. The project's
// signature takes half a second of it. DEDLOC_SHOW=1 prints the times.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/sim/scenario.hpp"

using namespace dedloc;
using namespace dedloc::sim;
using namespace dedloc::simulation;
using namespace std::chrono_literals;

namespace {

/// Runs until the condition holds, and returns the time that it took.
template <class Condition>
double seconds_until(TestWorld& world, const Condition& condition) {
    const TimePoint begin = world.now();
    require_within(world, 60s, "the order to take effect", condition);
    return std::chrono::duration<double>(world.now() - begin).count();
}

/// The value that so large a part of the values does not exceed.
double quantile(std::vector<double> values, double part) {
    std::ranges::sort(values);
    return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

void show(const char* what, const std::vector<double>& times) {
    if (std::getenv("DEDLOC_SHOW") == nullptr) return;
    std::printf("%s: median %.2f s, 90 %% %.2f s, longest %.2f s\n", what, quantile(times, 0.5),
                quantile(times, 0.9), quantile(times, 1));
}

}  // namespace

TEST_CASE("a new voter is appointed as soon as it has caught up", "[membership][sim]") {
    std::vector<double> until_generation;
    std::vector<double> until_dismissal;
    for (const auto seed : seeds(40)) {
        INFO("replay: " << replay_command(seed));
        Random random = Random{seed}.split(98);
        RoundRules rules = quick_rules(1'000);
        rules.target_batch = Samples{192};
        TestWorld world{seed, options_for(seed, rules)};
        world.add_backbone();
        world.add_trainers(3);
        const Watch watch{world};
        world.run_for(5s + std::chrono::milliseconds{random.below(3'000)});
        const auto next = world.add_backbone();
        world.appoint({0, next});
        until_generation.push_back(
            seconds_until(world, [&] { return world.checkers().generation() == 1; }));
        world.run_for(1s);
        world.appoint({0});
        until_dismissal.push_back(
            seconds_until(world, [&] { return world.checkers().generation() == 2; }));
    }
    show("appointed", until_generation);
    show("dismissed", until_dismissal);
    CHECK(quantile(until_generation, 0.9) < 1.2);
    CHECK(quantile(until_dismissal, 0.9) < 1.2);
}

// The voter's link closes in the middle of a round, which the new generation ends. The coordinator
// is the same as before, in a term of the same number.
TEST_CASE("a voter is dismissed in the middle of a round", "[membership][sim]") {
    for (const auto seed : seeds(60)) {
        INFO("replay: " << replay_command(seed));
        Random random = Random{seed}.split(99);
        RoundRules rules = quick_rules(1'000);
        TestWorld world{seed, options_for(seed, rules)};
        world.add_backbone();
        world.add_trainers(2);
        const Watch watch{world};
        const auto steps = [&] { return world.checkers().newest_step().value(); };
        world.run_for(4s);
        const auto next = world.add_backbone();
        world.appoint({0, next});
        require_within(world, 10s, "two voters",
                       [&] { return world.checkers().generation() == 1; });
        world.run_for(1s + std::chrono::milliseconds{random.below(1'000)});
        world.crash(next, Exit::kFlushed);
        world.appoint({0});
        require_within(world, 10s, "one voter", [&] { return world.checkers().generation() == 2; });
        const std::uint64_t before = steps();
        require_within(world, 10s, "two steps", [&] { return steps() >= before + 2; });
    }
}
