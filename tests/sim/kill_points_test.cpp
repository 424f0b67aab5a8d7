// A peer of every role dies at every named point of a round that it passes, in swarms of three to
// six peers with one voter, and of five to eight with three. The other peers lose at most two
// timeouts and end with equal states, no peer loads a whole state unless it has missed more rounds
// than peers keep, and the contribution of every other peer is in the round. The only voter of a
// swarm restarts after a second.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/scenario.hpp"

using namespace dedloc;
using namespace dedloc::sim;
using namespace dedloc::simulation;
using namespace std::chrono_literals;

namespace {

enum class Victim {
    kCoordinator,  ///< the coordinator of three voters
    kOtherVoter,   ///< a voter of three that does not coordinate
    kOnlyVoter,
    kReducer,
    kOutboundOnly,
    kAggregator
};
constexpr std::array kVictims{Victim::kCoordinator, Victim::kOtherVoter,   Victim::kOnlyVoter,
                              Victim::kReducer,     Victim::kOutboundOnly, Victim::kAggregator};
constexpr Duration kAbsence = 1s;  ///< how long the only voter is dead

std::size_t voters_with(Victim victim) {
    return victim == Victim::kCoordinator || victim == Victim::kOtherVoter ? 3 : 1;
}
bool coordinates(Victim victim) {
    return victim == Victim::kCoordinator || victim == Victim::kOnlyVoter;
}

constexpr std::uint64_t kSteps = 16;

const char* name_of(Victim victim) {
    switch (victim) {
        case Victim::kCoordinator:
            return "coordinator";
        case Victim::kOtherVoter:
            return "other voter";
        case Victim::kOnlyVoter:
            return "only voter";
        case Victim::kReducer:
            return "reducing trainer";
        case Victim::kOutboundOnly:
            return "outbound-only trainer";
        case Victim::kAggregator:
            return "aggregator";
    }
    return "";
}

TestWorldOptions options_with(std::uint64_t seed, const RoundRules& rules, Victim victim) {
    TestWorldOptions options = options_for(seed, rules);
    options.voters = voters_with(victim);
    return options;
}

/// A swarm of `peers`, not counting further voters, with one peer of each role that fits in.
struct Swarm {
    Swarm(std::uint64_t seed, std::size_t peers, Victim victim)
        : world(seed, options_with(seed, rules(seed), victim)) {
        world.add_voters(profile());
        peers += voters_with(victim) - 1;
        if (victim == Victim::kAggregator) aggregator = world.add_aggregator(profile());
        if (victim == Victim::kOutboundOnly || peers >= 5) {
            outbound_only = world.add_trainer(profile().outbound_only());
        }
        while (world.size() < peers) dialled.push_back(world.add_trainer(profile()));
    }
    /// So slow that every peer that can be dialled reduces a part of the vector.
    static Profile profile() { return Profile::with_mbit(1, 1); }
    static RoundRules rules(std::uint64_t seed) {
        RoundRules rules = quick_rules(kSteps, 4'096);
        rules.codec = drawn_codec(seed);
        rules.overlaps = Random{seed}.split(92).below(2) == 0;
        rules.join_timeout = 10s;
        rules.round_timeout = 10s;
        return rules;
    }
    TestWorld::Id find(Victim victim) const {
        switch (victim) {
            case Victim::kCoordinator:
                return *world.coordinator();
            case Victim::kOtherVoter:
                return *world.coordinator() == 1 ? 2 : 1;
            case Victim::kOnlyVoter:
                return 0;
            case Victim::kReducer:
                return dialled.back();
            case Victim::kOutboundOnly:
                return *outbound_only;
            case Victim::kAggregator:
                return *aggregator;
        }
        return 0;
    }

    TestWorld world;
    std::vector<TestWorld::Id> dialled;
    std::optional<TestWorld::Id> outbound_only, aggregator;
    const Watch watch{world};
};

/// Whether a peer of this role passes this point in every round. Only other voters get proposals.
bool passes(Victim victim, Point point) {
    const bool has_samples = victim == Victim::kReducer || victim == Victim::kOutboundOnly;
    switch (point) {
        case Point::kBeforeProposeHandled:
        case Point::kBeforeAcceptSent:
        case Point::kAfterAcceptSent:
            return victim == Victim::kOtherVoter;
        case Point::kBeforeProposeSent:
        case Point::kProposeSentToOne:
        case Point::kAfterProposeSent:
            return victim == Victim::kCoordinator;
        case Point::kBeforeCallSent:
        case Point::kCallSentToOne:
        case Point::kAfterCallSent:
        case Point::kBeforePlanSent:
        case Point::kPlanSentToOne:
        case Point::kAfterPlanSent:
        case Point::kBeforeCommitSent:
        case Point::kCommitSentToOne:
        case Point::kAfterCommitSent:
            return coordinates(victim);
        case Point::kFirstScatterSent:
        case Point::kHalfScatterSent:
        case Point::kLastScatterSent:
            return has_samples;
        case Point::kFirstScatterReceived:
        case Point::kHalfScatterReceived:
        case Point::kLastScatterReceived:
        case Point::kFirstGatherSent:
        case Point::kHalfGatherSent:
        case Point::kLastGatherSent:
            return victim != Victim::kOutboundOnly;  // reduces nothing
        case Point::kFirstGatherReceived:
        case Point::kHalfGatherReceived:
        case Point::kLastGatherReceived:
        case Point::kAfterCommitted:
        case Point::kAfterApplied:
            return true;
        default:  // the coordinator sends itself no messages
            return !coordinates(victim);
    }
}

/// The limit for the time until all other peers hold the state after the present round. It is the
/// sum of: the failure timeout (0 if the dead peer's links close); the stall timeout for chunks
/// that wait for it; a micro-batch, if no peer has frozen yet; the transfer of one part, as a lost
/// reducer's chunks are scattered again; and one exchange each for Elect, Call, Plan, chunks,
/// Ready, Propose, Commit and for repeating the Commit. After the loss of a coordinator, the swarm
/// also waits for a candidate's turn, or for the only voter to restart and to be dialled again
/// (every two seconds), and then for two heartbeats, in which the new coordinator learns which
/// contributions are frozen.
Duration longest_recovery(Victim victim, Exit exit) {
    constexpr int kExchanges = 8;
    const RoundRules rules = Swarm::rules(1);
    const Profile profile = Swarm::profile();
    const Connection& link = profile.connection;
    const double vector_bytes = static_cast<double>(sizeof(float) * rules.elements);
    const double slowest = std::min(link.upload_bytes_per_second, link.download_bytes_per_second);
    // If only one reducer is alive, its part is the whole vector.
    const auto part =
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>{vector_bytes / slowest});
    // A round trip; both ends add their latency.
    const Duration exchange = 2 * 2 * (link.latency + link.jitter);
    const Duration failure_timeout = exit == Exit::kSilent ? rules.failure_timeout : Duration{};
    Duration lead{};
    if (victim == Victim::kCoordinator) lead = 2 * rules.election_pause + 2 * rules.heartbeat;
    if (victim == Victim::kOnlyVoter) lead = kAbsence + 2 * rules.heartbeat + 2 * rules.heartbeat;
    return failure_timeout + lead + rules.stall_timeout + profile.micro_batch_time + part +
           kExchanges * exchange;
}

/// How many whole states each host has loaded.
std::vector<std::uint64_t> loads(const TestWorld& world) {
    std::vector<std::uint64_t> all;
    for (TestWorld::Id id = 0; id < world.size(); ++id) all.push_back(world.loads(id));
    return all;
}

/// Whether the swarm has gone on since `step` for more rounds without this host than peers keep
/// averages of: it may not have noticed for a failure timeout that its link to the only voter is
/// dead.
bool may_load(const Swarm& swarm, TestWorld::Id host, StepIndex step) {
    const PeerKey& key = swarm.world.key(host);
    std::uint32_t missed = 0;
    for (const Round& round : swarm.world.checkers().history()) {
        const auto& members = round.record.members;
        const bool is_in = std::any_of(members.begin(), members.end(),
                                       [&](const auto& line) { return line.peer == key; });
        // It may not have heard that the round of the crash was decided, even if it was in it.
        const bool is_told = round.record.step < step || (is_in && round.record.step > step);
        missed = is_told ? 0 : missed + 1;
        if (missed > Swarm::rules(1).kept_averages) return true;
    }
    return false;
}

/// Requires that the record counts a contribution of every trainer except the victim.
void require_all_counted(const TestWorld& world, TestWorld::Id victim, StepIndex step) {
    const CommitRecord record = world.checkers().history().at(step.value()).record;
    for (TestWorld::Id id = 0; id < world.size(); ++id) {
        if (id == victim || world.role(id) != Role::kTrainer) continue;
        REQUIRE(std::any_of(record.members.begin(), record.members.end(), [&](const auto& line) {
            return line.peer == world.key(id) && line.samples > Samples{0};
        }));
    }
}

/// Requires one action::Settled of each state from the first to this one.
void require_all_settled(const TestWorld& world, StepIndex last) {
    std::vector<StepIndex> settled;
    for (const auto& one : world.settled()) {
        if (one.step <= last) settled.push_back(one.step);
    }
    REQUIRE(settled.size() == last.value());
    for (std::uint64_t k = 0; k < settled.size(); ++k) REQUIRE(settled[k] == StepIndex{k + 1});
}

/// Whether every host was a member of the newest round.
bool is_everybody_in(const TestWorld& world) {
    const Round* const newest = world.checkers().newest_round();
    return newest != nullptr && newest->record.members.size() == world.size();
}

/// Kills the victim at the point after a round of which all hosts were members. Returns how long
/// the other peers took to finish the round, or nothing if the point was not reached within two
/// rounds.
std::optional<Duration> kill_and_recover(Swarm& swarm, Victim victim, Point point, Exit exit) {
    TestWorld& world = swarm.world;
    require_within(world, 60s, "a round with all hosts", [&] { return is_everybody_in(world); });
    // Not before: another voter than the first may have won the first election.
    const TestWorld::Id id = swarm.find(victim);
    // A round may be in progress.
    const StepIndex step = world.checkers().newest_step().next();
    world.kill(id, point, step, exit);
    require_within(world, 60s, "two rounds or a crash",
                   [&] { return world.killed_in(id) || world.are_all_at(step.next().next()); });
    const auto round = world.killed_in(id);
    if (!round) return std::nullopt;
    const TimePoint killed_at = world.now();
    const auto loads_before = loads(world);
    if (victim == Victim::kOnlyVoter) world.after(kAbsence, [&world] { world.restart(0); });
    const auto is_back = [&] { return victim != Victim::kOnlyVoter || world.is_up(0); };
    require_within(world, longest_recovery(victim, exit), "recovery",
                   [&] { return is_back() && world.are_all_at(round->next()); });
    const Duration took = world.now() - killed_at;
    require_all_at(world, round->next().next(), 120s);
    require_equal_to_one_machine(world);
    auto loads_after = loads(world);
    // Loads are counted per life.
    if (victim == Victim::kOnlyVoter) loads_after[0] += loads_before[0];
    for (TestWorld::Id host = 0; host < world.size(); ++host) {
        INFO("host " << host);
        REQUIRE(loads_after[host] <= loads_before[host] + (may_load(swarm, host, *round) ? 1 : 0));
    }
    require_all_counted(world, id, *round);
    if (victim == Victim::kOnlyVoter) require_all_settled(world, round->next());
    return took;
}

constexpr std::size_t kMin = 3;
constexpr std::size_t kMax = 6;
constexpr std::size_t kCombinations = kVictims.size() * kPointCount * (kMax - kMin + 1);

/// Seed k tests combination k − 1 modulo their number, so higher seeds repeat combinations with
/// other random numbers.
void kill_everywhere(Exit exit) {
    std::map<std::string, Duration> longest;
    std::size_t deaths = 0, all = 0;
    for (const auto seed : seeds(kCombinations)) {
        std::size_t number = static_cast<std::size_t>(seed - 1) % kCombinations;
        const Victim victim = kVictims[number % kVictims.size()];
        number /= kVictims.size();
        const Point point = all_points()[number % kPointCount];
        const std::size_t peers = kMin + number / kPointCount;
        INFO("replay: " << replay_command(seed) << "\n"
                        << peers << " peers, the " << name_of(victim) << " dies "
                        << simulation::name_of(point));
        Swarm swarm{seed, peers, victim};
        const auto took = kill_and_recover(swarm, victim, point, exit);
        REQUIRE(took.has_value() == passes(victim, point));
        ++all;
        if (!took) continue;
        ++deaths;
        auto& max = longest[name_of(victim)];
        max = std::max(max, *took);
    }
    std::string text = std::to_string(deaths) + " crashes at all points that a role passes, of " +
                       std::to_string(all) + " combinations; longest recovery:";
    for (const auto& [victim, max] : longest) {
        const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(max);
        text += " " + victim + " " + std::to_string(time.count()) + " ms;";
    }
    WARN(text);
}

}  // namespace

TEST_CASE("a process that dies at any point of a round costs at most one timeout",
          "[averaging][sim]") {
    kill_everywhere(Exit::kFlushed);
}

TEST_CASE("a machine that vanishes at any point of a round costs at most two timeouts",
          "[averaging][sim]") {
    kill_everywhere(Exit::kSilent);
}
