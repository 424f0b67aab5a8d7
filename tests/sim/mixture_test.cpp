// Runs whose mixture of sources changes while they go on. The checkers require of every round that
// the samples that it counts were drawn by the mixture in its record.
#include <catch2/catch.hpp>

#include "peer/wire/mixture.hpp"
#include "tests/sim/scenario.hpp"

using namespace dedloc;
using namespace dedloc::sim;
using namespace dedloc::simulation;
using namespace std::chrono_literals;

namespace {

TestWorldOptions options(std::uint64_t seed, std::size_t voters, std::uint64_t steps) {
    RoundRules rules = quick_rules(steps);
    rules.overlaps = seed % 2 == 0;
    TestWorldOptions made = options_for(seed, rules);
    made.voters = voters;
    return made;
}

/// Begins a run of `world`, and waits until all have state `step`.
void begin(TestWorld& world, std::size_t trainers, StepIndex step) {
    world.add_voters();
    world.add_trainers(trainers);
    require_all_at(world, step, 120s);
}

/// Requires that the run has `steps` steps, and that all have the same states.
void require_end(const TestWorld& world, std::uint64_t steps) {
    require_clean_history(world, steps);
    require_every_state_equal(world, steps);
}

Digest name_of(std::uint64_t from, const std::vector<std::uint64_t>& weights) {
    return digest_of(MixtureChange{.from = StepIndex{from}, .weights = weights});
}

/// The mixture in the record of each step, ascending.
std::vector<std::optional<Digest>> mixtures_of(const TestWorld& world) {
    std::map<std::uint64_t, std::optional<Digest>> all;
    visit_contributions(world, [&](const Round& round, const PeerKey&, const Frozen&) {
        all[round.record.step.value()] = round.record.mixture;
    });
    std::vector<std::optional<Digest>> list;
    for (const auto& [step, mixture] : all) list.push_back(mixture);
    return list;
}

/// Requires one mixture before step `from` and another one from it on.
void require_change(const TestWorld& world, std::uint64_t steps, std::uint64_t from,
                    const std::optional<Digest>& before, const std::optional<Digest>& after) {
    const auto mixtures = mixtures_of(world);
    REQUIRE(mixtures.size() == steps);
    for (std::uint64_t step = 0; step < steps; ++step) {
        INFO("step " << step);
        CHECK(mixtures[step] == (step < from ? before : after));
    }
}

/// The first backbone is cut off, and comes back some seconds later.
void crash_backbone(TestWorld& world, std::uint64_t seed) {
    world.crash(0, Exit::kCutOff);
    world.run_for(std::chrono::seconds{1 + seed % 3});
    world.restart(0);
}

}  // namespace

TEST_CASE("every peer changes the mixture at the same step, newcomers too", "[averaging][sim]") {
    for (const auto seed : seeds(8)) {
        INFO("replay: " << replay_command(seed));
        const std::size_t voters = seed % 3 == 0 ? 3 : 1;
        TestWorld world{seed, options(seed, voters, 24)};
        const Watch watch{world};
        begin(world, 3, StepIndex{4});
        world.change_mixture(StepIndex{9}, {1, 3});
        require_all_at(world, StepIndex{12}, 120s);
        // A newcomer, a trainer that starts again without memory, and one that was suspended.
        world.add_trainer();
        const auto crashed = static_cast<TestWorld::Id>(voters);
        world.crash(crashed, Exit::kCutOff);
        const auto suspended = static_cast<TestWorld::Id>(voters + 1);
        world.suspend(suspended);
        world.run_for(20s);
        world.restart(crashed, Memory::kLost);
        world.resume(suspended);
        require_all_at(world, StepIndex{24}, 300s);
        require_end(world, 24);
        require_change(world, 24, 9, {}, name_of(9, {1, 3}));
    }
}

TEST_CASE("a peer that was away during a change draws nothing from the former mixture that counts",
          "[averaging][sim]") {
    for (const auto seed : seeds(8)) {
        INFO("replay: " << replay_command(seed));
        TestWorld world{seed, options(seed, 3, 30)};
        const Watch watch{world};
        begin(world, 4, StepIndex{3});
        // A trainer, or one of the voters, is cut off while the change is told and begins.
        const auto away = static_cast<TestWorld::Id>(seed % 2 == 0 ? 1 : 4);
        world.partition({away});
        world.change_mixture(StepIndex{8}, {2, 5});
        world.run_for(60s);
        world.heal();
        require_all_at(world, StepIndex{30}, 400s);
        require_end(world, 30);
        require_change(world, 30, 8, {}, name_of(8, {2, 5}));
    }
}

TEST_CASE("a change outlives crashes of backbones, and a second one follows it",
          "[averaging][sim]") {
    for (const auto seed : seeds(6)) {
        INFO("replay: " << replay_command(seed));
        const std::size_t voters = seed % 2 == 0 ? 3 : 1;
        TestWorld world{seed, options(seed, voters, 24)};
        const Watch watch{world};
        begin(world, 3, StepIndex{2});
        world.change_mixture(StepIndex{8}, {1, 3});
        crash_backbone(world, seed);
        require_all_at(world, StepIndex{10}, 200s);
        world.change_mixture(StepIndex{16}, {3, 1});
        require_all_at(world, StepIndex{24}, 300s);
        require_end(world, 24);
        const auto mixtures = mixtures_of(world);
        REQUIRE(mixtures.size() == 24);
        CHECK(mixtures[23] == name_of(16, {3, 1}));
        // The first one is in force unless its backbone came back after its step.
        CHECK((mixtures[15] == name_of(8, {1, 3}) || !mixtures[15]));
    }
}

TEST_CASE("a change for a step that is past is void at every peer, and another one can follow",
          "[averaging][sim]") {
    for (const auto seed : seeds(6)) {
        INFO("replay: " << replay_command(seed));
        TestWorld world{seed, options(seed, 3, 24)};
        const Watch watch{world};
        begin(world, 3, StepIndex{6});
        // The project's own command refuses this; a backbone that was cut off may still sign it.
        world.change_mixture(StepIndex{2}, {1, 3});
        require_all_at(world, StepIndex{9}, 120s);
        world.add_trainer();
        require_all_at(world, StepIndex{12}, 120s);
        world.change_mixture(StepIndex{17}, {3, 1});
        require_all_at(world, StepIndex{24}, 300s);
        require_end(world, 24);
        require_change(world, 24, 17, {}, name_of(17, {3, 1}));
    }
}

TEST_CASE("a source that is added in mid-run is that of newer jobs, and the record says so",
          "[averaging][sim]") {
    for (const auto seed : seeds(8)) {
        INFO("replay: " << replay_command(seed));
        const std::size_t voters = seed % 3 == 0 ? 3 : 1;
        TestWorld world{seed, options(seed, voters, 26)};
        const Watch watch{world};
        begin(world, 3, StepIndex{4});
        world.change_mixture(StepIndex{8}, {1, 3});
        world.run_for(1s);  // the backbone signs one list after the other
        world.add_source();
        // The backbone dies between signing and telling; one trainer is away for an hour.
        if (seed % 2 == 0) crash_backbone(world, seed);
        const auto away = static_cast<TestWorld::Id>(voters);
        world.suspend(away);
        const auto newcomer = world.add_trainer();
        require_all_at(world, StepIndex{9}, 300s);
        world.change_mixture(StepIndex{14}, {1, 3, 4});
        require_all_at(world, StepIndex{16}, 300s);
        world.set_paused(true);
        world.run_for(3'600s);
        world.resume(away);
        world.set_paused(false);
        // An old job that begins again, without what it had on its disk.
        const auto old = static_cast<TestWorld::Id>(voters + 1);
        world.crash(old, Exit::kCutOff);
        world.restart(old, Memory::kLost);
        require_all_at(world, StepIndex{26}, 600s);
        require_end(world, 26);
        CHECK(mixtures_of(world)[25] == name_of(14, {1, 3, 4}));
        std::size_t counted = 0;
        const PeerKey fresh = world.key(newcomer);
        visit_contributions(world, [&](const Round& round, const PeerKey& peer, const Frozen&) {
            const CommitLine* const line = line_of(round.record, peer);
            REQUIRE(line != nullptr);
            CHECK(line->added == (peer == fresh ? 1 : 0));
            counted += line->added;
        });
        CHECK(counted > 0);
    }
}
