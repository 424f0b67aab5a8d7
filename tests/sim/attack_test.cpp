// Attacks that need one or two of sixteen trainers, or one of three voters, with the timeouts of a
// real run: the members that attack decide nothing, the run keeps its speed, and its log names
// them.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <tuple>

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

struct Attack {
    Misbehaviour misbehaviour;
    std::size_t voters = 1;
    double part = 0.9;     ///< least speed, as a part of that of the honest members alone
    bool is_named = true;  ///< the log names the liars

    /// The liar is a voter, not a trainer.
    bool is_by_voter() const { return misbehaviour == Misbehaviour::kFalseProposal; }
    /// Complaints are judged after a second, so the rounds of kPurge are longer. Two liars are most
    /// of the reducers where others cannot be dialled.
    bool is_purge() const { return misbehaviour == Misbehaviour::kPurge; }
    std::size_t honest_trainers(std::size_t liars) const {
        return kTrainers - (is_by_voter() ? 0 : liars);
    }
};

struct Outcome {
    double known_after = 0;     ///< seconds
    double steps_a_minute = 0;  ///< after that
    std::size_t liars = 0;      ///< how often they were accused
    std::size_t honest = 0;     ///< how often others were
};

/// Host 0 is a voter, and coordinates if it can.
void add_hosts(World& world, const Attack& attack, std::size_t honest, std::size_t liars,
               Random random) {
    for (std::size_t i = 0; i < attack.voters; ++i) {
        const Profile profile = profile_of(Profile::office(), random);
        if (attack.is_by_voter() && i < liars) {
            world.add_hostile(attack.misbehaviour, profile, Role::kBackbone);
        } else {
            world.add_backbone(profile);
        }
    }
    for (std::size_t i = 0; i < honest; ++i) {
        const Profile profile = profile_of(Profile::home(), random);
        world.add_trainer(attack.is_purge() ? profile.outbound_only() : profile);
    }
    for (std::size_t i = 0; i < (attack.is_by_voter() ? 0 : liars); ++i) {
        world.add_hostile(attack.misbehaviour, profile_of(Profile::home(), random));
    }
}

Outcome outcome_of(std::uint64_t seed, const Attack& attack, std::size_t honest,
                   std::size_t liars) {
    RoundRules rules;
    rules.elements = attack.is_purge() ? 20'000 : 2'000;
    rules.target_batch = Samples{1'920};
    rules.last_step = StepIndex{10'000};
    WorldOptions options = options_for(seed, rules);
    options.voters = attack.voters;
    World world{seed, options};
    const Watch watch{world};
    add_hosts(world, attack, honest, liars, Random{seed}.split(87));
    require_all_at(world, kKnown, kTime);
    const double known_after =
        std::chrono::duration<double>(world.now().time_since_epoch()).count();
    world.run_for(kTime);
    const std::uint64_t steps = world.checkers().history().size();
    require_clean_history(world, steps);
    require_equal_to_one_machine(world);
    Outcome outcome{.known_after = known_after};
    outcome.steps_a_minute = static_cast<double>(steps - kKnown.value()) /
                             std::chrono::duration<double>(kTime).count() * 60;
    for (World::Id id = 0; id < world.size(); ++id) {
        (world.is_hostile(id) ? outcome.liars : outcome.honest) += world.accusations(id);
    }
    return outcome;
}

/// The honest members alone. Most attacks are compared with the same ones.
const Outcome& without_liars(std::uint64_t seed, const Attack& attack, std::size_t honest) {
    static std::map<std::tuple<std::uint64_t, std::size_t, bool, std::size_t>, Outcome> known;
    const std::tuple name{seed, attack.voters, attack.is_purge(), honest};
    const auto found = known.find(name);
    if (found != known.end()) return found->second;
    return known.emplace(name, outcome_of(seed, attack, honest, 0)).first->second;
}

/// One and two of sixteen trainers attack, or one of the voters.
void require_defeated(const Attack& attack) {
    for (const auto seed : seeds(1)) {
        INFO("replay: " << replay_command(seed));
        for (std::size_t liars = 1; liars <= (attack.is_by_voter() ? 1 : 2); ++liars) {
            const std::size_t honest = attack.honest_trainers(liars);
            const Outcome& clean = without_liars(seed, attack, honest);
            const Outcome outcome = outcome_of(seed, attack, honest, liars);
            const std::string text = fmt::format(
                "{} {}, {} honest trainers, {} voters: step {} after {:.0f} s, {:.0f} s without; "
                "then {:.1f} steps a minute, {:.1f} without; accused: liars {} times, others {} "
                "times",
                liars, name_of(attack.misbehaviour), honest, attack.voters, kKnown.value(),
                outcome.known_after, clean.known_after, outcome.steps_a_minute,
                clean.steps_a_minute, outcome.liars, outcome.honest);
            INFO(text);
            if (std::getenv("DEDLOC_SHOW") != nullptr) WARN(text);
            CHECK(outcome.steps_a_minute >= attack.part * clean.steps_a_minute);
            CHECK(outcome.honest == 0);
            if (attack.is_named) CHECK(outcome.liars > 0);
        }
    }
}

}  // namespace

TEST_CASE("averages that many members name decide nothing", "[averaging][sim]") {
    // The others fetch the average of each round, or more than one: no message proves yet who has
    // sent a false one.
    require_defeated({.misbehaviour = Misbehaviour::kSplitAverage, .part = 0.8, .is_named = false});
}
TEST_CASE("averages that differ between voters cost a round", "[averaging][sim]") {
    require_defeated(
        {.misbehaviour = Misbehaviour::kSplitAverage, .voters = 3, .part = 0.8, .is_named = false});
}
TEST_CASE("a coordinator that proposes another average than the voters' decides nothing",
          "[averaging][sim]") {
    require_defeated({.misbehaviour = Misbehaviour::kFalseProposal, .voters = 3});
}
TEST_CASE("a member that is ready alone decides nothing", "[averaging][sim]") {
    require_defeated({.misbehaviour = Misbehaviour::kLoneReady});
}
TEST_CASE("a member that only keeps its link alive stops no round", "[averaging][sim]") {
    require_defeated({.misbehaviour = Misbehaviour::kDrip});
}
TEST_CASE("averages that are not finite skip no update", "[averaging][sim]") {
    require_defeated({.misbehaviour = Misbehaviour::kNanAverage});
}
TEST_CASE("complaints of two reducers exclude no member that the coordinator hears",
          "[averaging][sim]") {
    // What they say at once is not heard, so it need not be judged.
    require_defeated({.misbehaviour = Misbehaviour::kPurge, .is_named = false});
}
TEST_CASE("a member that introduces itself again and again is cut off", "[state][sim]") {
    require_defeated({.misbehaviour = Misbehaviour::kHelloStorm, .is_named = false});
}
TEST_CASE("certificates with false signatures are not looked at for long", "[state][sim]") {
    require_defeated({.misbehaviour = Misbehaviour::kFalseVotes});
}
TEST_CASE("a link that a member claims to be slow stops no round", "[averaging][sim]") {
    // It need not be named: a link may be slow.
    require_defeated({.misbehaviour = Misbehaviour::kSlowClaim, .is_named = false});
}
TEST_CASE("members that are late together stop no round", "[averaging][sim]") {
    require_defeated({.misbehaviour = Misbehaviour::kLateReady});
}
