// A swarm's states equal those of one machine that trains with the same batches, bit for bit: for a
// quadratic and for a small network, with members that join, leave and crash meanwhile.
#include <catch2/catch.hpp>

#include "tests/sim/scenario.hpp"

using namespace dedloc;
using namespace dedloc::sim;
using namespace dedloc::simulation;
using namespace std::chrono_literals;

namespace {

/// Four consecutive seeds have all codecs.
Codec codec_of(std::uint64_t seed) {
    return static_cast<Codec>(seed % kCodecNames.size());
}

}  // namespace

TEST_CASE("a swarm's quadratic equals one machine's at every step", "[averaging][property][sim]") {
    for (const auto seed : seeds(4)) {
        INFO("replay: " << replay_command(seed));
        RoundRules rules = quick_rules(30, 30'000);
        rules.codec = codec_of(seed);
        TestWorld world{seed, options_for(seed, rules)};
        const Watch watch{world};
        world.add_backbone();
        world.add_trainers(5, Profile::home());
        require_all_at(world, StepIndex{30}, 300s);
        require_every_state_equal(world, 30);
    }
}

TEST_CASE("a swarm's network equals one machine's at every step and learns",
          "[averaging][property][sim]") {
    for (const auto seed : seeds(4)) {
        INFO("replay: " << replay_command(seed));
        auto options = options_for(seed, quick_rules(60, TinyNetwork::kElements));
        options.rules.codec = codec_of(seed);
        options.problem = ProblemKind::kTinyNetwork;
        TestWorld world{seed, options};
        const Watch watch{world};
        world.add_backbone();
        world.add_trainers(4);
        world.run_for(5s);
        world.crash(2, Exit::kCutOff);
        world.run_for(5s);
        world.restart(2, Memory::kStale);
        world.add_trainers(2, Profile::home().outbound_only());
        require_all_at(world, StepIndex{60}, 300s);
        require_every_state_equal(world, 60);
        const auto rounds = world.checkers().history();
        const auto loss = [](const Round& round) {
            double sum = 0, samples = 0;
            for (const CommitLine& line : round.record.members) {
                sum += line.loss_sum;
                samples += static_cast<double>(line.samples.value());
            }
            return sum / samples;
        };
        REQUIRE(loss(rounds.back()) < 0.8 * loss(rounds.front()));
    }
}
