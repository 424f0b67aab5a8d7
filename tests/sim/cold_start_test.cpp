// Swarms that start, and swarms that are partitioned, never have two histories.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "tests/sim/scenario.hpp"

using namespace dedloc;
using namespace dedloc::sim;
using namespace dedloc::simulation;
using namespace std::chrono_literals;

namespace {

/// Steps of a run that lasts longer than its faults: half a minute with few trainers.
constexpr std::uint64_t kSteps = 15;

}  // namespace

TEST_CASE("four peers that start at random times with breaking links make one history",
          "[membership][sim]") {
    for (const auto seed : seeds(1'000)) {
        INFO("replay: " << replay_command(seed));
        Random random = Random{seed}.split(78);
        TestWorld world{seed, options_for(seed, quick_rules(3))};
        const Watch watch{world};
        world.add(Role::kBackbone, {});
        for (int i = 0; i < 3; ++i) {
            world.add(Role::kTrainer, random.below(4) == 0 ? Profile{}.outbound_only() : Profile{});
        }
        for (TestWorld::Id id = 0; id < 4; ++id) {
            const auto delay = std::chrono::milliseconds{random.below(8'000)};
            world.after(delay, [&world, id] { world.start(id); });
        }
        for (std::uint64_t cuts = random.below(8); cuts > 0; --cuts) {
            const auto when = std::chrono::milliseconds{random.below(12'000)};
            const auto id = static_cast<TestWorld::Id>(random.below(4));
            const bool is_silent = random.below(2) == 0;
            const std::uint64_t which = random.next();
            world.after(when, [=, &world] {
                is_silent ? world.silent_cut(id, which) : world.cut(id, which);
            });
        }
        world.run_for(8s);
        require_all_at(world, StepIndex{3}, 180s);
        require_clean_history(world, 3);
    }
}

TEST_CASE("a partition that heals leaves one history", "[membership][sim]") {
    for (const auto seed : seeds(200)) {
        INFO("replay: " << replay_command(seed));
        Random random = Random{seed}.split(79);
        RoundRules rules = quick_rules(kSteps);
        rules.target_batch = Samples{192};
        TestWorld world{seed, options_for(seed, rules)};
        const Watch watch{world};
        world.add_backbone();
        world.add_trainers(2 + random.below(4));
        world.run_for(std::chrono::milliseconds{random.below(10'000)});
        std::vector<TestWorld::Id> side;
        for (TestWorld::Id id = 0; id < world.size(); ++id) {
            if (random.below(2) == 0) side.push_back(id);
        }
        world.partition(side);
        world.run_for(std::chrono::milliseconds{random.below(40'000)});
        world.heal();
        require_all_at(world, StepIndex{kSteps}, 240s);
        require_clean_history(world, kSteps);
        require_equal_to_one_machine(world);
    }
}

TEST_CASE("a swarm that loses all members except its backbone continues without a new generation",
          "[membership][sim]") {
    for (const auto seed : seeds(40)) {
        INFO("replay: " << replay_command(seed));
        Random random = Random{seed}.split(80);
        RoundRules rules = quick_rules(kSteps);
        rules.target_batch = Samples{192};
        TestWorld world{seed, options_for(seed, rules)};
        const Watch watch{world};
        world.add_backbone();
        world.add_trainers(4);
        world.run_for(4s + std::chrono::milliseconds{random.below(8'000)});
        for (const TestWorld::Id id : {1u, 2u, 3u, 4u}) world.crash(id, Exit::kSilent);
        world.run_for(std::chrono::milliseconds{random.below(5'000)});
        for (const TestWorld::Id id : {1u, 2u, 3u, 4u}) world.restart(id, Memory::kLost);
        require_all_at(world, StepIndex{kSteps}, 120s);
        REQUIRE(world.checkers().generation() == 0);
        require_clean_history(world, kSteps);
        require_equal_to_one_machine(world);
    }
}

TEST_CASE("a swarm whose newest states are lost continues from an older one by a new generation",
          "[membership][state][sim]") {
    for (const auto seed : seeds(20)) {
        INFO("replay: " << replay_command(seed));
        Random random = Random{seed}.split(81);
        RoundRules rules = quick_rules(kSteps);
        rules.target_batch = Samples{192};
        TestWorld world{seed, options_for(seed, rules)};
        const Watch watch{world};
        Profile backbone;
        backbone.checkpoint_every = 4;
        world.add_backbone(backbone);
        world.add_trainers(2);
        world.run_for(9s + std::chrono::milliseconds{random.below(4'000)});
        for (TestWorld::Id id = 0; id < 3; ++id) world.crash(id, Exit::kSilent);
        for (TestWorld::Id id = 0; id < 3; ++id) {
            world.restart(id, id == 0 ? Memory::kStale : Memory::kLost);
        }
        require_all_at(world, StepIndex{kSteps}, 240s);
        REQUIRE(world.checkers().generation() == 1);
        require_equal_to_one_machine(world);
    }
}

TEST_CASE("a round that lasts longer than its deadline teaches the next one how fast links are",
          "[averaging][sim]") {
    constexpr std::uint64_t kRounds = 4;
    constexpr std::uint64_t kElements = 1'200'000;
    for (const std::size_t trainers : {3u, 8u}) {
        // T* is 58 s and 68 s, the first deadline round_timeout, 60 s.
        RoundRules rules = quick_rules(kRounds, kElements);
        rules.probes_links = false;
        TestWorld world{trainers, options_for(trainers, rules)};
        const Watch watch{world};
        Profile profile = Profile::with_mbit(1, 1);
        profile.guesses_bandwidth = false;
        profile.holds_first_state = true;
        world.add_backbone(profile);
        world.add_trainers(trainers, profile);
        require_all_at(world, StepIndex{1}, 5min);
        const TimePoint first = world.now();
        require_all_at(world, StepIndex{kRounds}, 20min);
        const auto seconds = std::chrono::duration<double>(world.now() - first).count();
        const auto lost = std::ranges::count_if(world.trace().notes(), [](const std::string& note) {
            return note.find(" is off: ") != std::string::npos ||
                   note.find(" goes on without ") != std::string::npos;
        });
        const auto members = static_cast<double>(trainers + 1);
        const double best = 2 * kElements * sizeof(float) * (members - 1) / members / 125'000;
        const double round = seconds / (kRounds - 1);
        INFO(trainers << " trainers: " << round << " s a round, T* " << best << " s, " << lost
                      << " attempts lost");
        CHECK(lost <= 1);
        CHECK(round < 1.2 * best);
        for (const std::string& note : world.trace().notes()) {
            CHECK(note.find("left out") == std::string::npos);
        }
    }
}
