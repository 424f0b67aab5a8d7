// Hostile members break the protocol, each in one way, with a key and a ticket like any other
// member. Honest peers continue at about their speed without the hostile member, with one history,
// and no honest peer is excluded for good.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "tests/hostile/misbehaviour.hpp"
#include "tests/sim/scenario.hpp"
#include "tests/simulation/faults.hpp"

using namespace dedloc;
using namespace dedloc::sim;
using namespace dedloc::simulation;
using namespace std::chrono_literals;
using hostile::Misbehaviour;

namespace {

constexpr std::uint64_t kSteps = 10;
constexpr std::size_t kHonest = 5;
constexpr Duration kFaultTime = 30s;
/// Seeds of the mix beyond those that are always tried, each of which has found a bug.
constexpr std::uint64_t kOnceFailed[] = {22'031, 22'707, 40'753, 55'435, 70'471, 70'598, 71'238};

/// Misbehaviours that the protocol stops.
constexpr std::array kDecisive{
    Misbehaviour::kForgedPromise,      Misbehaviour::kForgedHead,      Misbehaviour::kOverclaimJoin,
    Misbehaviour::kOverclaimHeartbeat, Misbehaviour::kDialStorm,       Misbehaviour::kNan,
    Misbehaviour::kExponent,           Misbehaviour::kSilentAfterJoin, Misbehaviour::kSlander,
    Misbehaviour::kLateReady,          Misbehaviour::kRepeatedQueries, Misbehaviour::kClosedWindow,
    Misbehaviour::kSplitAverage,       Misbehaviour::kLoneReady,       Misbehaviour::kDrip,
    Misbehaviour::kSlowClaim,          Misbehaviour::kNanAverage,      Misbehaviour::kPurge,
    Misbehaviour::kHelloStorm,         Misbehaviour::kFalseVotes,      Misbehaviour::kEarlyFlood,
    Misbehaviour::kHeartbeatStorm,     Misbehaviour::kKeySquat,        Misbehaviour::kWhisper,
    Misbehaviour::kNeverReady,         Misbehaviour::kPulse,           Misbehaviour::kTrickle,
    Misbehaviour::kLateJoin,           Misbehaviour::kNoShow,          Misbehaviour::kHangUp};
/// Misbehaviours that it does not stop yet: they cost time and what is learnt, but the history is
/// one.
constexpr std::array kUndefended{Misbehaviour::kGarbageAverage, Misbehaviour::kEquivocation,
                                 Misbehaviour::kNegativeGradient, Misbehaviour::kGhostSamples};
static_assert(kDecisive.size() + kUndefended.size() + 1 == hostile::kMisbehaviours,
              "a false proposal needs three voters: attack_test.cpp");

/// Whether the links are so slow that members reduce; otherwise the backbone reduces alone.
bool has_slow_links(std::uint64_t seed) {
    return Random{seed}.split(81).below(2) == 0;
}
Profile with_slow_link(Profile profile) {
    profile.connection.upload_bytes_per_second = 250'000;
    profile.connection.download_bytes_per_second = 250'000;
    return profile;
}

RoundRules rules_for(std::uint64_t seed) {
    RoundRules rules = quick_rules(kSteps, has_slow_links(seed) ? 2'000 : 160);
    rules.target_batch = Samples{480};
    rules.join_timeout = 10s;
    rules.round_timeout = 20s;
    rules.codec = drawn_codec(seed);
    return rules;
}

struct Outcome {
    Duration time{};  ///< duration of the run
    std::vector<Round> rounds;
    std::size_t cancelled = 0;
    std::size_t left_out = 0;  ///< number of times that a member was left out of a round
    std::size_t garbled = 0;   ///< rounds in which a hostile reducer sent garbage
    double samples_per_round() const {
        double sum = 0;
        for (const Round& round : rounds) sum += static_cast<double>(samples_of(round));
        return sum / static_cast<double>(rounds.size());
    }
    static std::uint64_t samples_of(const Round& round) {
        std::uint64_t sum = 0;
        for (const CommitLine& line : round.record.members) sum += line.samples.value();
        return sum;
    }
};

std::size_t notes_with(const TestWorld& world, const std::string& words) {
    return static_cast<std::size_t>(std::ranges::count_if(
        world.trace().notes(),
        [&](const std::string& note) { return note.find(words) != std::string::npos; }));
}

/// Requires that each honest trainer has samples in at least one of the `last` newest rounds.
void require_all_included(const TestWorld& world, const Outcome& outcome, std::size_t last) {
    std::set<PeerKey> included;
    const std::size_t first = outcome.rounds.size() - std::min(last, outcome.rounds.size());
    for (std::size_t r = first; r < outcome.rounds.size(); ++r) {
        for (const CommitLine& line : outcome.rounds[r].record.members) {
            if (line.samples > Samples{0}) included.insert(line.peer);
        }
    }
    for (TestWorld::Id id = 0; id < world.size(); ++id) {
        if (world.is_hostile(id) || world.role(id) != Role::kTrainer) continue;
        INFO("trainer " << id);
        CHECK(included.contains(world.key(id)));
    }
}

Profile backbone_of(std::uint64_t seed) {
    return has_slow_links(seed) ? with_slow_link(Profile::office()) : Profile::office();
}

/// A home; the speeds of two trainers differ by less than half.
Profile home_of(std::uint64_t seed, Random& random) {
    Profile profile = has_slow_links(seed) ? with_slow_link(Profile::home()) : Profile::home();
    profile.connection.latency = std::chrono::milliseconds{5 + random.below(30)};
    profile.micro_batch_time = std::chrono::milliseconds{350 + random.below(150)};
    return profile;
}

/// Runs the backbone, five honest trainers and these hostile members without other faults.
Outcome run_quietly(TestWorld& world, std::uint64_t seed,
                    const std::vector<Misbehaviour>& misbehaviours, Duration limit) {
    Random random = Random{seed}.split(80);
    world.add_backbone(backbone_of(seed));
    for (std::size_t i = 0; i < kHonest; ++i) world.add_trainer(home_of(seed, random));
    for (const Misbehaviour misbehaviour : misbehaviours) {
        world.add_hostile(misbehaviour, home_of(seed, random));
    }
    require_all_at(world, StepIndex{kSteps}, limit);
    return {.time = world.now().time_since_epoch(),
            .rounds = world.checkers().history(),
            .cancelled = notes_with(world, " is off: "),
            .left_out = notes_with(world, ": left out"),
            .garbled = world.checkers().distrusted_averages()};
}

Outcome honest_outcome(std::uint64_t seed) {
    TestWorld world{seed, options_for(seed, rules_for(seed))};
    return run_quietly(world, seed, {}, 300s);
}

std::string summary(const char* name, const Outcome& outcome, const Outcome& honest) {
    const double steps = kSteps * 60;
    return fmt::format(
        "{}: {:.1f} steps a minute, {:.1f} without it; {} rounds cancelled, {} without it; {:.0f} "
        "samples a round, {:.0f} without it; {} times a member left out; garbage in {} rounds",
        name, steps / seconds_of(outcome.time), steps / seconds_of(honest.time), outcome.cancelled,
        honest.cancelled, outcome.samples_per_round(), honest.samples_per_round(), outcome.left_out,
        outcome.garbled);
}

/// One of six members is hostile: requires that the run is nearly as fast and its result correct.
void require_harmless(Misbehaviour misbehaviour) {
    for (const auto seed : seeds(8)) {
        INFO("replay: " << replay_command(seed));
        const Outcome honest = honest_outcome(seed);
        TestWorld world{seed, options_for(seed, rules_for(seed))};
        const Watch watch{world};
        const Outcome outcome = run_quietly(world, seed, {misbehaviour}, honest.time * 5 / 4 + 15s);
        const std::string text = summary(name_of(misbehaviour), outcome, honest);
        INFO(text);
        REQUIRE(outcome.rounds.size() == kSteps);
        require_clean_history(world, kSteps);
        require_equal_to_one_machine(world);
        require_all_included(world, outcome, 3);
        CHECK(outcome.samples_per_round() >= 0.8 * honest.samples_per_round());
        if (std::getenv("DEDLOC_SHOW") != nullptr) WARN(text);
    }
}

/// A home on a slow link, so that members reduce.
Profile slow_home(Random& random) {
    Profile profile = with_slow_link(Profile::home());
    profile.connection.latency = std::chrono::milliseconds{5 + random.below(30)};
    profile.micro_batch_time = std::chrono::milliseconds{350 + random.below(150)};
    return profile;
}

Profile drawn_profile(std::uint64_t seed, Random& random) {
    Profile profile = random.below(2) == 0 ? Profile::home() : Profile::office();
    if (has_slow_links(seed)) profile = with_slow_link(profile);
    if (random.below(3) == 0) profile = profile.outbound_only();
    profile.connection.latency = std::chrono::milliseconds{1 + random.below(60)};
    profile.connection.jitter = std::chrono::milliseconds{random.below(30)};
    profile.micro_batch_time = std::chrono::milliseconds{100 + random.below(900)};
    profile.micro_batch = 6 + random.below(18);
    profile.drift_ppm = static_cast<std::int64_t>(random.below(100'001)) - 50'000;
    return profile;
}

}  // namespace

// --- one at a time -----------------------------------------------------------

TEST_CASE("a member that acts as a voter decides nothing", "[averaging][sim]") {
    require_harmless(Misbehaviour::kForgedPromise);
}
TEST_CASE("a head that a member claims moves no peer's head", "[state][sim]") {
    require_harmless(Misbehaviour::kForgedHead);
}
TEST_CASE("a member that joins with too many samples is left out", "[averaging][sim]") {
    require_harmless(Misbehaviour::kOverclaimJoin);
}
TEST_CASE("a member that reports too many samples does not make rounds small", "[averaging][sim]") {
    require_harmless(Misbehaviour::kOverclaimHeartbeat);
}
TEST_CASE("endpoints that a member names are not dialled", "[averaging][sim]") {
    require_harmless(Misbehaviour::kDialStorm);
}
TEST_CASE("a member that sends elements that are not finite is left out", "[averaging][sim]") {
    require_harmless(Misbehaviour::kNan);
}
TEST_CASE("a member that sends a larger exponent than it joined with is left out",
          "[averaging][sim]") {
    require_harmless(Misbehaviour::kExponent);
}
TEST_CASE("a member that joins and sends nothing is left out", "[averaging][sim]") {
    require_harmless(Misbehaviour::kSilentAfterJoin);
}

TEST_CASE("a member that complains about all others is not believed for long", "[averaging][sim]") {
    require_harmless(Misbehaviour::kSlander);
}
TEST_CASE("a member that complains about one other after another is not believed for long",
          "[averaging][sim]") {
    require_harmless(Misbehaviour::kWhisper);
}
TEST_CASE("chunks of sums that do not exist take no memory from others", "[averaging][sim]") {
    require_harmless(Misbehaviour::kEarlyFlood);
}
TEST_CASE("floods of such chunks displace no chunk that is ahead of its plan", "[averaging][sim]") {
    for (const auto seed : seeds(2)) {
        INFO("replay: " << replay_command(seed));
        RoundRules rules = quick_rules(kSteps, 250'000);
        rules.target_batch = Samples{480};
        TestWorld world{seed, options_for(seed, rules)};
        const Watch watch{world};
        Random random = Random{seed}.split(85);
        // So fast that three liars fill what a peer keeps of all senders within a round.
        const auto fast = [&] {
            Profile profile = Profile::with_mbit(200, 200);
            profile.connection.latency = std::chrono::milliseconds{5 + random.below(60)};
            profile.connection.jitter = 200ms;  // chunks overtake plans
            return profile;
        };
        world.add_backbone(fast());
        for (std::size_t i = 0; i < 3; ++i) world.add_trainer(fast());
        for (std::size_t i = 0; i < 3; ++i) world.add_hostile(Misbehaviour::kEarlyFlood, fast());
        require_all_at(world, StepIndex{kSteps}, 300s);
        require_clean_history(world, kSteps);
        require_equal_to_one_machine(world);
        const std::string text =
            fmt::format("{} steps in {:.1f} s, {} parts lost, {} members left out", kSteps,
                        seconds_of(world.now().time_since_epoch()),
                        notes_with(world, "loses its part"), notes_with(world, ": left out"));
        INFO(text);
        if (std::getenv("DEDLOC_SHOW") != nullptr) WARN(text);
        CHECK(notes_with(world, "loses its part") == 0);
        for (TestWorld::Id id = 0; id < world.size(); ++id) {
            CHECK((world.accusations(id) > 0) == world.is_hostile(id));
        }
    }
}
TEST_CASE("heartbeats of many terms change nothing", "[membership][sim]") {
    require_harmless(Misbehaviour::kHeartbeatStorm);
}
TEST_CASE("a member without state and samples costs nothing", "[averaging][sim]") {
    require_harmless(Misbehaviour::kKeySquat);
}

namespace {

/// The members that take part after slander, according to the commit records.
struct AfterSlander {
    std::uint64_t reduced_until = 0;  ///< the last step in which a liar reduced
    std::size_t fewest = 0;  ///< honest trainers with samples in each of the last 10 rounds
};

AfterSlander after_slander(const TestWorld& world) {
    const auto& rounds = world.checkers().history();
    AfterSlander after{.fewest = world.size()};
    for (std::size_t r = 0; r < rounds.size(); ++r) {
        std::size_t honest = 0;
        for (const CommitLine& line : rounds[r].record.members) {
            const auto id = world.find(line.peer);
            const bool is_liar = id && world.is_hostile(*id);
            if (is_liar && line.reduced > 0) after.reduced_until = r;
            if (!is_liar && line.samples > Samples{0}) ++honest;
        }
        if (r + 10 >= rounds.size()) after.fewest = std::min(after.fewest, honest);
    }
    return after;
}

}  // namespace

TEST_CASE("slander costs each liar two attempts at most", "[averaging][sim]") {
    for (const Misbehaviour misbehaviour : {Misbehaviour::kSlander, Misbehaviour::kWhisper}) {
        for (std::size_t liars = 1; liars <= 3; ++liars) {
            for (const auto seed : seeds(4)) {
                INFO("replay: " << replay_command(seed));
                RoundRules rules = quick_rules(30, 4'000);
                rules.target_batch = Samples{480};
                rules.join_timeout = 10s;
                rules.round_timeout = 20s;
                TestWorld world{seed, options_for(seed, rules)};
                const Watch watch{world};
                Random random = Random{seed}.split(83);
                world.add_backbone(with_slow_link(Profile::office()));
                for (std::size_t i = 0; i + liars < 16; ++i) {
                    world.add_trainer(slow_home(random));
                }
                for (std::size_t i = 0; i < liars; ++i) {
                    world.add_hostile(misbehaviour, slow_home(random));
                }
                require_all_at(world, StepIndex{30}, 600s);
                const std::size_t lost =
                    notes_with(world, " is off: ") + notes_with(world, " goes on without ");
                const AfterSlander after = after_slander(world);
                const std::string text = fmt::format(
                    "{}, {} of 16: {} attempts lost, {} times left out, {:.0f} s; liars reduce "
                    "last in step {}; of {} honest trainers {} or more in each of the last 10 "
                    "rounds",
                    name_of(misbehaviour), liars, lost, notes_with(world, ": left out"),
                    seconds_of(world.now().time_since_epoch()), after.reduced_until, 16 - liars,
                    after.fewest);
                INFO(text);
                CHECK(lost <= 2 * liars);
                CHECK(after.fewest == 16 - liars);
                if (std::getenv("DEDLOC_SHOW") != nullptr) WARN(text);
            }
        }
    }
}

TEST_CASE("a member that never says that it is ready is not waited for", "[averaging][sim]") {
    for (const auto seed : seeds(8)) {
        INFO("replay: " << replay_command(seed));
        const Outcome honest = honest_outcome(seed);
        const RoundRules rules = rules_for(seed);
        TestWorld world{seed, options_for(seed, rules)};
        const Watch watch{world};
        const Outcome outcome = run_quietly(world, seed, {Misbehaviour::kNeverReady}, 300s);
        const std::string text = summary("never-ready", outcome, honest);
        INFO(text);
        CHECK(outcome.time < honest.time * 5 / 4 + 2 * rules.round_timeout + 5s);
        require_all_included(world, outcome, 3);
        if (std::getenv("DEDLOC_SHOW") != nullptr) WARN(text);
    }
}

TEST_CASE("two honest members that do not reach each other cost the others little",
          "[averaging][sim]") {
    constexpr std::uint64_t kFirst = 3;
    constexpr std::uint64_t kLast = 33;
    const auto duration = [](std::uint64_t seed, int cuts, std::size_t& attempts) {
        RoundRules rules = quick_rules(kLast, 4'000);
        rules.target_batch = Samples{480};
        TestWorld world{seed, options_for(seed, rules)};
        const Watch watch{world};
        Random random = Random{seed}.split(84);
        world.add_backbone(with_slow_link(Profile::office()));
        for (std::size_t i = 0; i < 7; ++i) world.add_trainer(slow_home(random));
        if (cuts >= 1) world.block(1, 2, true);
        if (cuts >= 2) world.block(2, 1, true);
        require_all_at(world, StepIndex{kFirst}, 300s);
        const TimePoint began = world.now();
        require_all_at(world, StepIndex{kLast}, 600s);
        attempts = notes_with(world, " goes on without ") + notes_with(world, " is off: ");
        return (world.now() - began) / (kLast - kFirst);
    };
    for (const auto seed : seeds(6)) {
        INFO("replay: " << replay_command(seed));
        std::size_t attempts = 0;
        const Duration whole = duration(seed, 0, attempts);
        for (const int cuts : {1, 2}) {
            const Duration cut = duration(seed, cuts, attempts);
            const std::string text =
                fmt::format("cut {} ways: {:.2f} s a round, {:.2f} s without; {} attempts lost",
                            cuts, seconds_of(cut), seconds_of(whole), attempts);
            INFO(text);
            CHECK(cut < whole + 200ms);
            if (std::getenv("DEDLOC_SHOW") != nullptr) WARN(text);
        }
    }
}

TEST_CASE("what nothing stops yet does not split the history", "[averaging][sim]") {
    for (const Misbehaviour misbehaviour : kUndefended) {
        for (const auto seed : seeds(4)) {
            INFO("replay: " << replay_command(seed));
            const Outcome honest = honest_outcome(seed);
            TestWorld world{seed, options_for(seed, rules_for(seed))};
            const Watch watch{world};
            const Outcome outcome = run_quietly(world, seed, {misbehaviour}, 1h);
            WARN(summary(name_of(misbehaviour), outcome, honest));
        }
    }
}

// --- among other faults ------------------------------------------------------

TEST_CASE("a run continues while up to a third of the members break the protocol",
          "[averaging][state][sim]") {
    auto tried = seeds_or_more(250);
    if (tried.size() > 1) tried.insert(tried.end(), std::begin(kOnceFailed), std::end(kOnceFailed));
    for (const auto seed : tried) {
        INFO("replay: " << replay_command(seed));
        Random random = Random{seed}.split(79);
        RoundRules rules = rules_for(seed);
        rules.target_batch = Samples{160};
        TestWorldOptions options = options_for(seed, rules);
        options.flood_per_second = 50;  // a whole flood costs minutes of processor time
        TestWorld world{seed, options};
        const Watch watch{world};
        world.add_backbone(backbone_of(seed));
        const std::uint64_t honest = 2 + random.below(4);
        for (std::uint64_t i = 0; i < honest; ++i) world.add_trainer(drawn_profile(seed, random));
        const std::uint64_t max = std::max<std::uint64_t>(1, honest / 2);
        for (std::uint64_t i = 1 + random.below(max); i > 0; --i) {
            world.add_hostile(kDecisive[random.below(kDecisive.size())],
                              drawn_profile(seed, random));
        }
        const FaultMix mix = FaultMix::drawn(random);
        Faults faults{world, mix, random.split(1)};
        faults.run(kFaultTime);
        world.run_for(kFaultTime + mix.recovery());
        require_all_at(world, StepIndex{kSteps}, 300s);
        require_equal_to_one_machine(world);
    }
}
