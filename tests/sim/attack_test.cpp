// Attacks that need one or two of sixteen trainers, with the timeouts of a real run: the members
// that attack decide nothing, the run keeps its speed, and its log
// names them.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "peer/hostile/misbehaviour.hpp"
#include "tests/sim/scenario.hpp"

using namespace dedloc;
using namespace dedloc::sim;
using namespace dedloc::simulation;
using namespace std::chrono_literals;
using hostile::Misbehaviour;

namespace {

constexpr std::size_t kTrainers = 16;
constexpr Duration kTime = 400s;
/// Steps until the liars are known: an attack may make these slower.
constexpr StepIndex kKnown{20};

/// A link of 2 Mbit/s, so that members reduce.
Profile profile_of(Profile profile, Random& random) {
    profile.connection.upload_bytes_per_second = 250'000;
    profile.connection.download_bytes_per_second = 250'000;
    profile.connection.latency = std::chrono::milliseconds{5 + random.below(30)};
    profile.micro_batch_time = std::chrono::milliseconds{350 + random.below(150)};
    return profile;
}

struct Outcome {
    std::uint64_t steps = 0;
    double known_after = 0;     ///< seconds
    double steps_a_minute = 0;  ///< after that
    std::size_t liars = 0;      ///< how often they were accused
    std::size_t honest = 0;     ///< how often others were
};

Outcome outcome_of(std::uint64_t seed, std::size_t honest, std::size_t liars,
                   Misbehaviour misbehaviour) {
    RoundRules rules;
    // Complaints are judged after a second, so the rounds of kPurge are longer.
    rules.elements = misbehaviour == Misbehaviour::kPurge ? 20'000 : 2'000;
    rules.target_batch = Samples{1'920};
    rules.last_step = StepIndex{10'000};
    World world{seed, options_for(seed, rules)};
    const Watch watch{world};
    Random random = Random{seed}.split(87);
    world.add_backbone(profile_of(Profile::office(), random));
    for (std::size_t i = 0; i < honest; ++i) {
        const Profile profile = profile_of(Profile::home(), random);
        // Two liars are most of the reducers where others cannot be dialled.
        world.add_trainer(misbehaviour == Misbehaviour::kPurge ? profile.outbound_only() : profile);
    }
    for (std::size_t i = 0; i < liars; ++i) {
        world.add_hostile(misbehaviour, profile_of(Profile::home(), random));
    }
    require_all_at(world, kKnown, kTime);
    const double known_after =
        std::chrono::duration<double>(world.now().time_since_epoch()).count();
    world.run_for(kTime);
    const std::uint64_t steps = world.checkers().history().size();
    require_clean_history(world, steps);
    require_equal_to_one_machine(world);
    Outcome outcome{.steps = steps, .known_after = known_after};
    outcome.steps_a_minute = static_cast<double>(steps - kKnown.value()) /
                             std::chrono::duration<double>(kTime).count() * 60;
    for (World::Id id = 0; id < world.size(); ++id) {
        (world.is_hostile(id) ? outcome.liars : outcome.honest) += world.accusations(id);
    }
    return outcome;
}

/// One and two of sixteen trainers attack. The run is at least `part` times as fast as the honest
/// members alone, and its log names the liars if they can be told.
void require_defeated(Misbehaviour misbehaviour, double part = 0.9, bool is_named = true) {
    for (const auto seed : seeds(1)) {
        INFO("replay: " << replay_command(seed));
        for (const std::size_t liars : {1u, 2u}) {
            const Outcome clean = outcome_of(seed, kTrainers - liars, 0, misbehaviour);
            const Outcome outcome = outcome_of(seed, kTrainers - liars, liars, misbehaviour);
            const std::string text = fmt::format(
                "{} of 16 {}: step {} after {:.0f} s, {:.0f} s without; then {:.1f} steps a "
                "minute, {:.1f} without; accused: liars {} times, others {} times",
                liars, name_of(misbehaviour), kKnown.value(), outcome.known_after,
                clean.known_after, outcome.steps_a_minute, clean.steps_a_minute, outcome.liars,
                outcome.honest);
            INFO(text);
            if (std::getenv("DEDLOC_SHOW") != nullptr) WARN(text);
            CHECK(outcome.steps_a_minute >= part * clean.steps_a_minute);
            CHECK(outcome.honest == 0);
            if (is_named) CHECK(outcome.liars > 0);
        }
    }
}

}  // namespace

TEST_CASE("averages that many members name decide nothing", "[averaging][sim]") {
    // The others fetch the average of each round, or more than one: no message proves yet who has
    // sent a false one.
    require_defeated(Misbehaviour::kSplitAverage, 0.8, false);
}
TEST_CASE("a member that is ready alone decides nothing", "[averaging][sim]") {
    require_defeated(Misbehaviour::kLoneReady);
}
TEST_CASE("a member that only keeps its link alive stops no round", "[averaging][sim]") {
    require_defeated(Misbehaviour::kDrip);
}
TEST_CASE("averages that are not finite skip no update", "[averaging][sim]") {
    require_defeated(Misbehaviour::kNanAverage);
}
TEST_CASE("complaints of two reducers exclude no member that the coordinator hears",
          "[averaging][sim]") {
    // What they say at once is not heard, so it need not be judged.
    require_defeated(Misbehaviour::kPurge, 0.9, false);
}
TEST_CASE("a member that introduces itself again and again is cut off", "[state][sim]") {
    require_defeated(Misbehaviour::kHelloStorm, 0.9, false);
}
TEST_CASE("certificates with false signatures are not looked at for long", "[state][sim]") {
    require_defeated(Misbehaviour::kFalseVotes);
}
TEST_CASE("a link that a member claims to be slow stops no round", "[averaging][sim]") {
    // It need not be named: a link may be slow.
    require_defeated(Misbehaviour::kSlowClaim, 0.9, false);
}
TEST_CASE("members that are late together stop no round", "[averaging][sim]") {
    require_defeated(Misbehaviour::kLateReady);
}
