// Everything at once: every seed draws a fleet and a mix of faults. Whatever happens, the checkers
// hold; and once the faults are over, everybody reaches the end of the run.
#include <catch2/catch.hpp>
#include <string>

#include "peer/simulation/faults.hpp"
#include "tests/sim/scenario.hpp"

using namespace dedloc;
using namespace dedloc::sim;
using namespace dedloc::simulation;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kSteps = 12;

Profile drawn_profile(Random& random) {
    Profile profile = random.below(2) == 0 ? Profile::home() : Profile::office();
    if (random.below(3) == 0) profile = profile.outbound_only();
    profile.connection.latency = std::chrono::milliseconds{1 + random.below(60)};
    profile.connection.jitter = std::chrono::milliseconds{random.below(30)};
    profile.micro_batch_time = std::chrono::milliseconds{50 + random.below(600)};
    profile.micro_batch = 4 + random.below(12);
    profile.apply_time = std::chrono::milliseconds{random.below(3) == 0 ? random.below(300) : 0};
    profile.drift_ppm = static_cast<std::int64_t>(random.below(100'001)) - 50'000;
    profile.checkpoint_every = 1 + random.below(4);
    return profile;
}

RoundRules drawn_rules(Random& random) {
    // Signatures are most of the work, and a chunk has one: few runs have many.
    const std::uint64_t elements = 64 + random.below(random.below(10) == 0 ? 20'000 : 800);
    RoundRules rules = quick_rules(kSteps, elements);
    rules.join_timeout = 10s;
    rules.round_timeout = 20s;
    // Long enough that no absence of the backbone ends a generation by mistake, short enough that a
    // swarm that has lost its majority begins anew in the time of a test.
    rules.backbone_absence = 60s;
    return rules;
}

}  // namespace

TEST_CASE("whatever fails, there is one history, and it goes on when the faults are over",
          "[averaging][state][sim]") {
    for (const auto seed : seeds(420)) {
        INFO("replay: " << replay_command(seed));
        Random random = Random{seed}.split(77);
        World world{seed, options_for(seed, drawn_rules(random))};
        const Watch watch{world};
        Profile backbone = Profile::office();
        backbone.checkpoint_every = 1 + random.below(3);
        world.add_backbone(backbone);
        const std::uint64_t trainers = 2 + random.below(4);
        for (std::uint64_t i = 0; i < trainers; ++i) world.add_trainer(drawn_profile(random));
        if (random.below(3) == 0) {
            Profile aggregator = Profile::office();
            aggregator.receives = random.below(2) == 0;
            world.add_aggregator(aggregator);
        }
        Faults faults{world, FaultMix::drawn(random), random.split(1)};
        faults.run(30s);
        world.run_for(60s);
        require_all_at(world, StepIndex{kSteps}, 300s);
        require_equal_to_one_machine(world);
    }
}
