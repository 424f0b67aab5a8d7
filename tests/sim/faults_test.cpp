// All faults together: every seed draws a fleet and a mix of faults. The invariants hold at any
// time, and after the last fault every peer reaches the end of the run.
#include <catch2/catch.hpp>
#include <iterator>
#include <string>

#include "tests/sim/scenario.hpp"
#include "tests/simulation/faults.hpp"

using namespace dedloc;
using namespace dedloc::sim;
using namespace dedloc::simulation;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kSteps = 10;
/// Seeds beyond the first thousand, each of which has found a bug.
constexpr std::uint64_t kOnceFailed[] = {1'132,  1'540,  1'676,  2'860,  3'563, 4'719,
                                         21'946, 24'602, 29'791, 29'840, 30'559};
constexpr Duration kFaultTime = 30s;  ///< about the duration of ten steps without faults

Profile drawn_profile(Random& random) {
    Profile profile = random.below(2) == 0 ? Profile::home() : Profile::office();
    if (random.below(3) == 0) profile = profile.outbound_only();
    profile.connection.latency = std::chrono::milliseconds{1 + random.below(60)};
    profile.connection.jitter = std::chrono::milliseconds{random.below(30)};
    profile.micro_batch_time = std::chrono::milliseconds{100 + random.below(900)};
    profile.micro_batch = 6 + random.below(18);
    profile.apply_time = std::chrono::milliseconds{random.below(3) == 0 ? random.below(300) : 0};
    profile.drift_ppm = static_cast<std::int64_t>(random.below(100'001)) - 50'000;
    profile.checkpoint_every = 1 + random.below(4);
    return profile;
}

/// Gives the host a slow disk and a slow processor, which needs up to half a second for the digest
/// of a vector of this size, and as long to seal it.
void slow_down(Profile& profile, std::uint64_t elements, Random& random) {
    const auto bytes = static_cast<double>(elements * sizeof(float));
    profile.disk_latency = std::chrono::milliseconds{random.below(200)};
    profile.digested_bytes_per_second = bytes * (2 + static_cast<double>(random.below(20)));
    // Messages are at most a few kB, whatever the vector is.
    profile.connection.sealed_bytes_per_second =
        (bytes + 20'000) * (2 + static_cast<double>(random.below(20)));
}

RoundRules drawn_rules(Random& random) {
    // Signatures take most of the time, and each chunk has one, so few runs have many chunks.
    const std::uint64_t elements = 64 + random.below(random.below(10) == 0 ? 20'000 : 200);
    RoundRules rules = quick_rules(kSteps, elements);
    rules.target_batch = Samples{160};
    rules.join_timeout = 10s;
    rules.round_timeout = 20s;
    return rules;
}

/// Plays the fleet and the faults that this seed draws.
void play(std::uint64_t seed) {
    Random random = Random{seed}.split(77);
    RoundRules rules = drawn_rules(random);
    rules.codec = drawn_codec(seed);
    rules.overlaps = Random{seed}.split(79).below(2) == 0;
    // Half of the swarms free every slice at once.
    if (Random{seed}.split(83).below(2) == 0) rules.kept_slice_bytes = 0;
    TestWorld world{seed, options_for(seed, rules)};
    const Watch watch{world};
    Random machines = Random{seed}.split(97);  // leaves the seeds of kOnceFailed as they were
    const bool has_slow_machines = machines.below(4) == 0;
    const auto slowed = [&](Profile profile) {
        if (has_slow_machines) slow_down(profile, rules.elements, machines);
        return profile;
    };
    Profile backbone = slowed(Profile::office());
    backbone.checkpoint_every = 1 + random.below(3);
    world.add_backbone(backbone);
    const std::uint64_t trainers = 2 + random.below(4);
    const bool has_slow = Random{seed}.split(80).below(4) == 0;
    for (std::uint64_t i = 0; i < trainers; ++i) {
        Profile profile = drawn_profile(random);
        if (has_slow && i == 0) profile.micro_batch_time *= 20;
        world.add_trainer(slowed(profile));
    }
    if (random.below(3) == 0) {
        Profile aggregator = Profile::office();
        aggregator.receives = random.below(2) == 0;
        world.add_aggregator(aggregator);
    }
    const FaultMix mix = FaultMix::drawn(random);
    Faults faults{world, mix, random.split(1)};
    faults.run(kFaultTime);
    world.run_for(kFaultTime + mix.recovery());
    require_all_at(world, StepIndex{kSteps}, 300s);
    require_equal_to_one_machine(world);
}

}  // namespace

TEST_CASE("under all faults there is one history that continues when the faults end",
          "[averaging][state][sim]") {
    auto tried = seeds_or_more(1'000);
    if (tried.size() > 1) tried.insert(tried.end(), std::begin(kOnceFailed), std::end(kOnceFailed));
    for (const auto seed : tried) {
        INFO("replay: " << replay_command(seed));
        play(seed);
    }
}

TEST_CASE("links that fail do not make the swarm leave out the fast one of two trainers",
          "[averaging][sim]") {
    // A choice of trainers that was made then once made steps of 44 s instead of 8.
    INFO("replay: " << replay_command(964));
    play(964);
}
