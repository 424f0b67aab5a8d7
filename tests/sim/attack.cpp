#include "tests/sim/attack.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "peer/base/random.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::sim {
namespace {

using namespace simulation;
using namespace std::chrono_literals;

/// Longest time to step kKnown, and the time after it.
constexpr Duration kTime = 400s;
/// The time of a crowd, whose seconds take a hundred times as long to simulate.
constexpr Duration kTimeOfCrowd = 60s;

/// A link of 2 Mbit/s, so that members reduce.
Profile profile_of(Profile profile, Random& random) {
    profile.connection.upload_bytes_per_second = 250'000;
    profile.connection.download_bytes_per_second = 250'000;
    profile.connection.latency = std::chrono::milliseconds{5 + random.below(30)};
    profile.micro_batch_time = std::chrono::milliseconds{350 + random.below(150)};
    return profile;
}

/// The backbone sends a plan of all seats to each of them in every round.
Profile backbone_of(const Attack& attack, Random& random) {
    const Profile profile = profile_of(Profile::office(), random);
    return attack.is_crowd() ? Profile::office() : profile;
}

void add_liar(TestWorld& world, const Attack& attack, std::size_t liar, Random& random) {
    if (!attack.is_crowd()) {
        world.add_hostile(attack.misbehaviour, profile_of(Profile::home(), random));
        return;
    }
    Profile profile = Profile::home();
    profile.receives = false;
    profile.micro_batch = 0;
    profile.user = 1'000'000 + liar;
    constexpr std::size_t kKeys = wire::kMaxMembers / 2 + 1;
    for (std::size_t i = 0; i < kKeys; ++i) {
        world.add_hostile(attack.misbehaviour, profile, Role::kAggregator);
    }
}

/// Host 0 is a voter, and coordinates if it can.
void add_hosts(TestWorld& world, const Attack& attack, std::size_t honest, std::size_t liars,
               Random random) {
    for (std::size_t i = 0; i < attack.voters; ++i) {
        const Profile profile = backbone_of(attack, random);
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
        add_liar(world, attack, i, random);
    }
}

TestWorldOptions options_of(std::uint64_t seed, const Attack& attack) {
    RoundRules rules;
    rules.elements = attack.has_many_chunks() ? 20'000 : 2'000;
    rules.target_batch = Samples{1'920};
    rules.last_step = StepIndex{10'000};
    TestWorldOptions options = options_for(seed, rules);
    options.voters = attack.voters;
    if (attack.is_crowd()) {
        options.proves_links = true;   // tickets name the user
        options.directory_answer = 0;  // only host 0: not every peer dials every other one
        options.checks_invariants = false;
    }
    return options;
}

/// Mean loss of host 0's state over samples that no trainer computes.
double held_out_loss(const TestWorld& world) {
    constexpr std::uint64_t kFirst = std::uint64_t{1} << 63;
    constexpr std::uint64_t kSamples = 2'000;
    const auto parameters = world.trainer(0).state().parameters();
    FloatVector gradient(parameters.size());
    double sum = 0;
    for (std::uint64_t i = 0; i < kSamples; ++i) {
        sum += world.problem().add_gradient(parameters, kFirst + i, gradient);
    }
    return sum / kSamples;
}

/// The liars' part of all samples that are counted.
double liars_part(const TestWorld& world) {
    double all = 0;
    double part = 0;
    for (const Round& round : world.checkers().history()) {
        for (const CommitLine& line : round.record.members) {
            const auto samples = static_cast<double>(line.samples.value());
            const auto id = world.find(line.peer);
            all += samples;
            if (id && world.is_hostile(*id)) part += samples;
        }
    }
    return all > 0 ? part / all : 0;
}

/// The fewest honest trainers that have samples in one of the last 5 rounds.
std::size_t fewest_honest(const TestWorld& world) {
    const auto rounds = world.checkers().history();
    std::size_t fewest = world.size();
    for (std::size_t r = rounds.size() - std::min<std::size_t>(rounds.size(), 5); r < rounds.size();
         ++r) {
        const auto counts = [&](const CommitLine& line) {
            const auto id = world.find(line.peer);
            return line.samples > Samples{0} && id && !world.is_hostile(*id);
        };
        const auto honest = std::ranges::count_if(rounds[r].record.members, counts);
        fewest = std::min(fewest, static_cast<std::size_t>(honest));
    }
    return fewest;
}

/// Runs until step kKnown, for kTime at most, and then on to the attack's end.
Outcome outcome_in(TestWorld& world, const Attack& attack) {
    (void)world.run_until([&] { return world.are_all_at(kKnown); }, kTime);
    Outcome outcome{.known_after = seconds_of(world.now().time_since_epoch())};
    const StepIndex known = world.checkers().newest_step();
    const Duration time = attack.end > Duration{} ? attack.end - world.now().time_since_epoch()
                          : attack.is_crowd()     ? kTimeOfCrowd
                                                  : kTime;
    world.run_for(time);
    const auto steps = static_cast<double>(world.checkers().newest_step().value() - known.value());
    outcome.steps_a_minute = steps / seconds_of(time) * 60;
    outcome.loss = held_out_loss(world);
    outcome.liars_part = liars_part(world);
    for (TestWorld::Id id = 0; id < world.size(); ++id) {
        (world.is_hostile(id) ? outcome.liars : outcome.honest) += world.accusations(id);
    }
    outcome.fewest_honest = fewest_honest(world);
    return outcome;
}

/// Runs it with so many honest trainers and liars.
Outcome outcome_with(std::uint64_t seed, const Attack& attack, std::size_t honest,
                     std::size_t liars, bool is_sound) {
    TestWorld world{seed, options_of(seed, attack)};
    const Watch watch{world};
    add_hosts(world, attack, honest, liars, Random{seed}.split(87));
    const Outcome outcome = outcome_in(world, attack);
    if (!is_sound) return outcome;
    require_all_at(world, kKnown, Duration{});
    require_clean_history(world, world.checkers().history().size());
    require_equal_to_one_machine(world);
    return outcome;
}

}  // namespace

std::vector<std::size_t> Attack::liars() const {
    if (is_crowd()) return {2};
    return is_by_voter() ? std::vector<std::size_t>{1} : std::vector<std::size_t>{1, 2};
}

Outcome outcome_of(std::uint64_t seed, const Attack& attack, std::size_t liars) {
    return outcome_with(seed, attack, attack.honest_trainers(liars), liars, false);
}

Outcome sound_outcome_of(std::uint64_t seed, const Attack& attack, std::size_t liars) {
    return outcome_with(seed, attack, attack.honest_trainers(liars), liars, true);
}

const Outcome& without_liars(std::uint64_t seed, const Attack& attack, std::size_t liars) {
    using Name = std::tuple<std::uint64_t, std::size_t, bool, bool, bool, std::size_t, Duration>;
    static std::map<Name, Outcome> known;
    const std::size_t honest = attack.honest_trainers(liars);
    const Name name{
        seed,   attack.voters, attack.is_purge(), attack.has_many_chunks(), attack.is_crowd(),
        honest, attack.end};
    const auto found = known.find(name);
    if (found != known.end()) return found->second;
    return known.emplace(name, outcome_with(seed, attack, honest, 0, true)).first->second;
}

}  // namespace dedloc::sim
