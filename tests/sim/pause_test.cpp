// Runs that the project pauses: no round is called and nothing is computed, members stay, and after
// the pause training goes on with what they hold, also if backbones crash in between.
#include <catch2/catch.hpp>

#include "tests/sim/scenario.hpp"

using namespace dedloc;
using namespace dedloc::sim;
using namespace dedloc::simulation;
using namespace std::chrono_literals;

namespace {

/// Time after which a called round has ended and every peer has heard of the pause.
constexpr Duration kToCalm = 10s;

TestWorldOptions options(std::uint64_t seed, std::size_t voters, bool overlaps,
                         std::uint64_t steps) {
    RoundRules rules = quick_rules(steps);
    rules.overlaps = overlaps;
    TestWorldOptions made = options_for(seed, rules);
    made.voters = voters;
    return made;
}

/// Time that all trainers have computed for.
Duration computed(const TestWorld& world) {
    Duration sum{};
    for (TestWorld::Id id = 0; id < world.size(); ++id) {
        if (world.role(id) == Role::kTrainer) sum += world.trainer(id).computed();
    }
    return sum;
}

void require_paused(TestWorld& world, bool is_paused, Duration limit = 2s) {
    require_within(world, limit, "every peer knows whether the run is paused", [&] {
        for (TestWorld::Id id = 0; id < world.size(); ++id) {
            if (world.is_up(id) && world.is_paused(id) != is_paused) return false;
        }
        return true;
    });
}

/// Requires that nothing happens in this time, and that no peer leaves.
void require_calm(TestWorld& world, Duration time) {
    const StepIndex step = world.checkers().newest_step();
    const Duration before = computed(world);
    world.run_for(time);
    REQUIRE(world.checkers().newest_step() == step);
    REQUIRE(computed(world) == before);
    for (TestWorld::Id id = 0; id < world.size(); ++id) REQUIRE_FALSE(world.has_left(id));
}

}  // namespace

TEST_CASE("while a run is paused nothing is computed, and afterwards nothing is lost",
          "[averaging][sim]") {
    for (const auto seed : seeds(12)) {
        INFO("replay: " << replay_command(seed));
        const bool overlaps = seed % 2 == 0;
        TestWorld world{seed, options(seed, seed % 3 == 0 ? 3 : 1, overlaps, 30)};
        const Watch watch{world};
        world.add_voters();
        world.add_trainers(4);
        for (std::uint64_t pauses = 1; pauses <= 3; ++pauses) {
            require_all_at(world, StepIndex{4 * pauses}, 120s);
            world.run_for(std::chrono::milliseconds{317 * seed});
            world.set_paused(true);
            require_paused(world, true);
            world.run_for(kToCalm);
            require_calm(world, 10min);
            world.set_paused(false);
            require_paused(world, false);
        }
        require_all_at(world, StepIndex{30}, 300s);
        require_clean_history(world, 30);
        require_every_state_equal(world, 30);
        require_nothing_lost(world);
    }
}

TEST_CASE("a pause outlives crashes of backbones, and newcomers take part in it",
          "[averaging][sim]") {
    for (const auto seed : seeds(12)) {
        INFO("replay: " << replay_command(seed));
        const std::size_t voters = seed % 2 == 0 ? 3 : 1;
        TestWorld world{seed, options(seed, voters, seed % 3 == 0, 16)};
        const Watch watch{world};
        world.add_voters();
        world.add_trainers(3);
        require_all_at(world, StepIndex{3}, 120s);
        world.set_paused(true);
        require_paused(world, true);
        const auto crashed = static_cast<TestWorld::Id>(voters == 3 ? seed / 2 % 3 : 0);
        world.crash(crashed, Exit::kCutOff);
        world.add_trainer();
        world.run_for(30s);
        require_calm(world, 60s);
        world.restart(crashed);
        world.run_for(30s);
        require_paused(world, true);
        require_calm(world, 60s);
        // The run's own backbone has the last word, also right after its start.
        world.crash(0, Exit::kCutOff);
        world.restart(0);
        world.set_paused(false);
        require_paused(world, false, 30s);
        require_all_at(world, StepIndex{16}, 300s);
        require_clean_history(world, 16);
        require_every_state_equal(world, 16);
    }
}

TEST_CASE("a pause that a crash follows at once is kept, or was never told", "[averaging][sim]") {
    for (const auto seed : seeds(8)) {
        INFO("replay: " << replay_command(seed));
        TestWorld world{seed, options(seed, 3, false, 12)};
        const Watch watch{world};
        world.add_voters();
        world.add_trainers(3);
        require_all_at(world, StepIndex{2}, 120s);
        world.set_paused(true);
        // Its heartbeats may be on the way, or lost with the process.
        world.crash(0, seed % 2 == 0 ? Exit::kCutOff : Exit::kFlushed);
        world.run_for(std::chrono::seconds{seed});
        world.restart(0);
        require_paused(world, true, 30s);
        world.run_for(kToCalm);
        require_calm(world, 60s);
        world.set_paused(false);
        require_all_at(world, StepIndex{12}, 300s);
        require_clean_history(world, 12);
        require_nothing_lost(world);
    }
}
