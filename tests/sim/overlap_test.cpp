// Runs whose trainers compute while a round is on its way: the states equal those of one machine
// that applies the same delayed gradients, every sample counts once, and trainers hardly ever wait.
#include <catch2/catch.hpp>

#include "tests/sim/scenario.hpp"

using namespace dedloc;
using namespace dedloc::sim;
using namespace dedloc::simulation;
using namespace std::chrono_literals;

namespace {

RoundRules overlapping(std::uint64_t steps, std::uint64_t elements = 160) {
    RoundRules rules = quick_rules(steps, elements);
    rules.overlaps = true;
    return rules;
}

/// Samples counted in all rounds, and those of them that were computed on the state before.
struct Counted {
    std::uint64_t all = 0, delayed = 0;
};
Counted counted(const TestWorld& world) {
    Counted counted;
    visit_contributions(world, [&](const Round& round, const PeerKey&, const Frozen& frozen) {
        for (const Part& part : frozen.parts) {
            counted.all += part.samples;
            if (part.step != round.record.step) counted.delayed += part.samples;
        }
    });
    return counted;
}

/// The part of the time in which so many homes compute, over eight steps. The vector and the
/// micro-batches are a twentieth of ALBERT-base's: a round and the computing between two rounds
/// take about two seconds each, at 20 Mbit/s up and 100 down.
double computing_share(std::size_t homes, bool overlaps) {
    RoundRules rules = quick_rules(1'000, 590'000);
    rules.target_batch = Samples{20 * homes};
    rules.overlaps = overlaps;
    auto options = options_for(1, rules);
    options.computes_averages = false;
    options.proves_links = true;
    TestWorld world{1, options};
    const Watch watch{world};
    world.add_backbone(Profile::with_mbit(100, 100));
    Profile home = Profile::home();
    home.micro_batch = 1;
    home.micro_batch_time = 100ms;
    home.apply_time = 20ms;
    const auto trainers = world.add_trainers(homes, home);
    require_all_at(world, StepIndex{4}, 600s);
    const auto computed = [&] {
        Duration sum{};
        for (const TestWorld::Id id : trainers) sum += world.trainer(id).computed();
        return sum;
    };
    const Duration before = computed();
    const TimePoint since = world.now();
    require_all_at(world, StepIndex{world.checkers().newest_step().value() + 8}, 600s);
    const std::chrono::duration<double> all = static_cast<int>(homes) * (world.now() - since);
    return std::chrono::duration<double>(computed() - before) / all;
}

}  // namespace

TEST_CASE("with overlap a swarm equals one machine with gradients that are delayed by a step",
          "[averaging][property][sim]") {
    for (const auto seed : seeds(6)) {
        INFO("replay: " << replay_command(seed));
        RoundRules rules = overlapping(30, 30'000);
        if (seed % 2 == 0) rules.codec = Codec::kFp16;
        TestWorld world{seed, options_for(seed, rules)};
        const Watch watch{world};
        world.add_backbone();
        Profile profile = Profile::home();
        if (seed % 3 == 0) profile.apply_time = 50ms;
        world.add_trainers(5, profile);
        require_all_at(world, StepIndex{30}, 300s);
        require_clean_history(world, 30);
        require_every_state_equal(world, 30);
        require_nothing_lost(world);
        const Counted samples = counted(world);
        REQUIRE(samples.delayed > samples.all / 8);
        REQUIRE(samples.delayed < samples.all);
    }
}

TEST_CASE("with overlap a small network learns while members join, leave and crash",
          "[averaging][property][sim]") {
    for (const auto seed : seeds(4)) {
        INFO("replay: " << replay_command(seed));
        auto options = options_for(seed, overlapping(60, TinyNetwork::kElements));
        options.problem = ProblemKind::kTinyNetwork;
        TestWorld world{seed, options};
        const Watch watch{world};
        world.add_backbone();
        world.add_trainers(4);
        world.run_for(5s);
        world.crash(2, Exit::kCutOff);
        world.suspend(3);
        world.run_for(5s);
        world.restart(2, Memory::kStale);
        world.resume(3);
        world.add_trainers(2, Profile::home().outbound_only());
        require_all_at(world, StepIndex{60}, 300s);
        require_every_state_equal(world, 60);
    }
}

TEST_CASE("without voters trainers hold what they have, and with overlap nothing of it is lost",
          "[averaging][sim]") {
    for (const auto seed : seeds(10)) {
        INFO("replay: " << replay_command(seed));
        TestWorld world{seed, options_for(seed, overlapping(12))};
        const Watch watch{world};
        world.add_backbone();
        world.add_trainers(3);
        require_all_at(world, StepIndex{3}, 60s);
        world.run_for(std::chrono::milliseconds{100 * seed});
        world.crash(0, Exit::kSilent);
        world.run_for(300s);
        const auto samples = [&] {
            Duration computed{};
            for (TestWorld::Id id = 1; id < world.size(); ++id)
                computed += world.trainer(id).computed();
            return computed;
        };
        const Duration before = samples();
        world.run_for(300s);
        REQUIRE(samples() == before);  // no trainer computes without end
        world.restart(0);
        require_all_at(world, StepIndex{12}, 120s);
        require_every_state_equal(world, 12);
    }
}

TEST_CASE("a peer whose micro-batches are long is in every round, or the swarm is faster without",
          "[averaging][sim]") {
    // The others fill the next batch during the round, so it is called as soon as it may be.
    for (const auto seed : seeds(4)) {
        INFO("replay: " << replay_command(seed));
        const auto duration = [&](bool chooses_trainers) {
            RoundRules rules = overlapping(20, 30'000);
            rules.chooses_trainers = chooses_trainers;
            TestWorld world{seed, options_for(seed, rules)};
            const Watch watch{world};
            world.add_backbone();
            world.add_trainers(4, Profile::with_mbit(2, 2));
            Profile slow = Profile::home();
            slow.micro_batch_time = 4s;
            const TestWorld::Id late = world.add_trainer(slow);
            const TimePoint began = world.now();
            require_all_at(world, StepIndex{20}, 600s);
            require_every_state_equal(world, 20);
            std::size_t rounds = 0;
            for (const Round& round : world.checkers().history()) {
                const CommitLine* line = line_of(round.record, world.key(late));
                rounds += line != nullptr && line->samples > Samples{0} ? 1 : 0;
            }
            REQUIRE(rounds >= (chooses_trainers ? 4 : 17));
            if (!chooses_trainers) require_nothing_lost(world);
            return world.now() - began;
        };
        const Duration all = duration(false);
        CHECK(duration(true) < all + all / 20);
    }
}

TEST_CASE("sixteen homes compute at least 95 percent of the time with overlap", "[sim]") {
    const double without = computing_share(16, false);
    const double with = computing_share(16, true);
    WARN("computing " << without << " of the time without overlap, " << with << " with it");
    CHECK(without < 0.7);
    CHECK(with >= 0.95);
}

TEST_CASE("sixty-four homes compute at least 85 percent of the time with overlap", "[.slow][sim]") {
    const double with = computing_share(64, true);
    WARN("computing " << with << " of the time");
    CHECK(with >= 0.85);
}
