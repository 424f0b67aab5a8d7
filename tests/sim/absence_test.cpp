// Every state that a peer can be in, and everything that can interrupt it there. What a peer wants,
// and what it has asked for, outlives its absence: afterwards it takes part in rounds again.
//
// A moment is recognised from the events and actions of the watched host, so it is the same
// whatever the implementation. At that moment an interruption begins; when it has ended, a round
// must be decided soon in which the watched peer is a member.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <iterator>
#include <string>
#include <variant>
#include <vector>

#include "peer/simulation/observer.hpp"
#include "peer/wire/message_codec.hpp"
#include "tests/sim/scenario.hpp"

using namespace dedloc;
using namespace dedloc::sim;
using namespace dedloc::simulation;
using namespace std::chrono_literals;

namespace {

// --- moments -----------------------------------------------------------------

/// Whether a host's event, or an action of its peer, is what the moment is named after.
struct Situation {
    std::string name;
    std::function<bool(const Event&)> is_event;
    std::function<bool(const Action&)> is_action;
};

template <class Kind>
Situation told(const std::string& name) {
    return {.name = name,
            .is_event = [](const Event& event) { return std::holds_alternative<Kind>(event); },
            .is_action = {}};
}

template <class Kind>
Situation asks(const std::string& name) {
    return {.name = name, .is_event = {}, .is_action = [](const Action& action) {
                return std::holds_alternative<Kind>(action);
            }};
}

/// `fits` may be a condition on the message's body.
template <class Body>
Situation receives(const std::string& name, std::function<bool(const Body&)> fits = {}) {
    return {.name = name,
            .is_event =
                [fits](const Event& event) {
                    const auto* received = std::get_if<event::FrameReceived>(&event);
                    if (received == nullptr) return false;
                    const auto message = wire::decode_unverified(*received->frame);
                    const auto* body = message ? std::get_if<Body>(&message->body) : nullptr;
                    return body != nullptr && (!fits || fits(*body));
                },
            .is_action = {}};
}

template <class Body>
Situation sends(const std::string& name, std::function<bool(const Body&)> fits = {}) {
    return {.name = name, .is_event = {}, .is_action = [fits](const Action& action) {
                const auto* sent = std::get_if<action::Send>(&action);
                if (sent == nullptr) return false;
                const auto message = wire::decode_unverified(*sent->frame.whole());
                const auto* body = message ? std::get_if<Body>(&message->body) : nullptr;
                return body != nullptr && (!fits || fits(*body));
            }};
}

/// Watches one host for one moment.
class Sighting final : public Observer {
  public:
    explicit Sighting(Situation moment) : moment_(std::move(moment)) {}
    /// From now on.
    void watch(TestWorld::Id id) {
        watched_ = id;
        is_watching_ = true;
        is_seen_ = false;
    }
    bool is_seen() const { return is_seen_; }

    void handles(TimePoint, NodeId node, const Event& event) override {
        if (!is_watching_ || node != watched_ || !moment_.is_event) return;
        is_seen_ = is_seen_ || moment_.is_event(event);
    }
    void has_handled(TimePoint, NodeId node, const Actions& actions) override {
        if (!is_watching_ || node != watched_ || !moment_.is_action) return;
        is_seen_ = is_seen_ || std::ranges::any_of(actions, moment_.is_action);
    }

  private:
    const Situation moment_;
    TestWorld::Id watched_ = 0;
    bool is_watching_ = false;
    bool is_seen_ = false;
};

bool is_scatter(const wire::Chunk& chunk) {
    return chunk.kind == wire::ChunkKind::kScatter;
}
bool is_gather(const wire::Chunk& chunk) {
    return chunk.kind == wire::ChunkKind::kGather;
}
bool is_for_round(const wire::StateQuery& query) {
    return query.has_state;
}
bool is_for_state(const wire::StateQuery& query) {
    return !query.has_state;
}

/// How a new peer comes to its first state.
std::vector<Situation> newcomer() {
    return {sends<wire::Hello>("it introduces itself"),
            receives<wire::StateVotes>("it hears which state is signed"),
            sends<wire::StateQuery>("it asks for a state", is_for_state),
            receives<wire::StateOffer>("it is offered a state"),
            sends<wire::LeafRequest>("it asks for a leaf"),
            receives<wire::Leaf>("it receives a leaf"),
            asks<action::Load>("its trainer loads a state"),
            told<event::StateReached>("its trainer has loaded a state")};
}

/// A round of a trainer.
std::vector<Situation> trainer_in_round() {
    return {told<event::Progressed>("it has computed a micro-batch"),
            asks<action::Freeze>("it is called"),
            told<event::ContributionFrozen>("its contribution is frozen"),
            sends<wire::Join>("it joins"),
            receives<wire::Plan>("it gets the plan"),
            sends<wire::Chunk>("it scatters", is_scatter),
            receives<wire::Chunk>("it gathers", is_gather),
            sends<wire::Ready>("it is ready"),
            asks<action::Apply>("its trainer applies an average"),
            told<event::StateReached>("its trainer has applied an average")};
}

/// A round of a peer that computes nothing.
std::vector<Situation> aggregator_in_round() {
    return {receives<wire::Call>("it is called"),
            sends<wire::Join>("it joins"),
            receives<wire::Plan>("it gets the plan"),
            receives<wire::Chunk>("it reduces", is_scatter),
            sends<wire::Reduced>("it has reduced"),
            sends<wire::Ready>("it is ready"),
            receives<wire::Commit>("the round is decided")};
}

/// A peer that has missed rounds.
std::vector<Situation> behind() {
    return {sends<wire::StateQuery>("it asks for a round", is_for_round),
            receives<wire::RoundOffer>("it is offered a round"),
            asks<action::Apply>("its trainer applies a fetched average"),
            told<event::StateReached>("its trainer has applied a fetched average")};
}

/// A trainer that holds its micro-batches.
std::vector<Situation> when_done() {
    return {asks<action::Freeze>("it freezes its micro-batch"),
            told<event::ContributionFrozen>("it holds its micro-batch"),
            sends<wire::Join>("it joins with its micro-batch"),
            asks<action::Apply>("its trainer catches up"),
            told<event::Progressed>("it has computed a micro-batch")};
}

/// A voter of three.
std::vector<Situation> voter() {
    return {sends<wire::Join>("it joins"),
            sends<wire::Accept>("it votes"),
            asks<action::Voted>("it writes its vote down"),
            asks<action::Committed>("it knows the decision"),
            asks<action::Apply>("its state changes"),
            sends<wire::StateVotes>("it signs a state"),
            told<event::StateReached>("its state has changed")};
}

/// One that coordinates.
std::vector<Situation> coordinator() {
    return {sends<wire::Call>("it calls"),
            sends<wire::Plan>("it sends the plan"),
            sends<wire::Propose>("it proposes"),
            asks<action::Committed>("it has decided"),
            sends<wire::Commit>("it tells the decision"),
            sends<wire::StateVotes>("it signs a state")};
}

// --- interruptions -----------------------------------------------------------

struct Interruption {
    std::string name;
    std::function<void(TestWorld&, TestWorld::Id)> happen;  ///< returns when it has ended
};

void cut_all(TestWorld& world, TestWorld::Id id) {
    for (std::size_t k = 0; k < world.size(); ++k) world.cut(id, 0);
}

Interruption suspended(Duration time) {
    return {"suspended for " + std::to_string(time / 1ms) + " ms",
            [time](TestWorld& world, auto id) {
                world.suspend(id);
                world.run_for(time);
                world.resume(id);
            }};
}

/// The peer is away for a while, or the run is paused.
std::vector<Interruption> absences() {
    return {suspended(0s),
            suspended(150ms),
            suspended(2s),
            suspended(40s),
            {"suspended twice",
             [](TestWorld& world, auto id) {
                 for (const Duration time : {1s, 1s}) {
                     world.suspend(id);
                     world.run_for(time);
                     world.resume(id);
                     world.run_for(time / 2);
                 }
             }},
            {"hangs while it is suspended",
             [](TestWorld& world, auto id) {
                 world.suspend(id);
                 world.hang(id);
                 world.run_for(3s);
                 world.resume(id);
                 world.run_for(3s);
                 world.wake(id);
             }},
            {"the run is paused",
             [](TestWorld& world, auto) {
                 world.set_paused(true);
                 world.run_for(20s);
                 world.set_paused(false);
             }},
            {"suspended in a pause",
             [](TestWorld& world, auto id) {
                 world.set_paused(true);
                 world.run_for(1s);
                 world.suspend(id);
                 world.run_for(5s);
                 world.resume(id);
                 world.run_for(5s);
                 world.set_paused(false);
             }},
            {"suspended until after a pause", [](TestWorld& world, auto id) {
                 world.suspend(id);
                 world.set_paused(true);
                 world.run_for(5s);
                 world.set_paused(false);
                 world.run_for(5s);
                 world.resume(id);
             }}};
}

/// Its links or its process fail.
std::vector<Interruption> failures() {
    return {{"loses its links", cut_all},
            {"loses its links silently",
             [](TestWorld& world, auto id) {
                 for (std::size_t k = 0; k < world.size(); ++k) world.silent_cut(id, 0);
             }},
            {"cut off",
             [](TestWorld& world, auto id) {
                 world.partition({id});
                 world.run_for(15s);
                 world.heal();
             }},
            {"loses its links while it is suspended",
             [](TestWorld& world, auto id) {
                 cut_all(world, id);
                 world.suspend(id);
                 world.run_for(1s);
                 world.resume(id);
             }},
            {"hangs briefly",
             [](TestWorld& world, auto id) {
                 world.hang(id);
                 world.run_for(3s);
                 world.wake(id);
             }},
            {"hangs",
             [](TestWorld& world, auto id) {
                 world.hang(id);
                 world.run_for(15s);
                 world.wake(id);
             }},
            {"killed",
             [](TestWorld& world, auto id) {
                 world.crash(id);
                 world.run_for(1s);
                 world.restart(id);
             }},
            {"its machine crashes", [](TestWorld& world, auto id) {
                 world.crash(id, Exit::kSilent);
                 world.run_for(20s);
                 world.restart(id, Memory::kStale);
             }}};
}

std::vector<Interruption> interruptions() {
    std::vector<Interruption> all = absences();
    std::ranges::copy(failures(), std::back_inserter(all));
    return all;
}

// --- fleets ------------------------------------------------------------------

/// The role of the watched peer. But for the only trainer, it has two trainers beside it.
enum class Fleet : std::uint8_t {
    kOnlyTrainer,  ///< the only trainer: without it there is no step
    kTrainer,      ///< a trainer; the others go on without it
    kSlowTrainer,  ///< a trainer so slow that it is called when it holds a micro-batch
    kAggregator,   ///< an aggregator that holds the state
    kReducer,      ///< an aggregator that holds no state
    kCoordinator,  ///< the coordinator, one of three voters
    kOtherVoter,   ///< a voter of three that does not coordinate
};

Profile profile() {
    Profile profile = Profile::with_mbit(1, 1);
    profile.apply_time = 300ms;
    return profile;
}

/// A swarm in which a moment of one host is awaited.
struct Case {
    Case(std::uint64_t seed, Fleet which, const Situation& moment)
        : fleet(which), sighting(moment), world(seed, options(seed)) {
        world.add_voters(profile());
        if (fleet == Fleet::kOnlyTrainer) return;
        world.add_trainers(2, profile());
    }
    TestWorldOptions options(std::uint64_t seed) {
        RoundRules rules = quick_rules(1'000, 400);
        rules.overlaps = seed % 2 == 0;
        rules.join_timeout = 20s;
        rules.round_timeout = 20s;
        TestWorldOptions options = options_for(seed, rules);
        options.voters = fleet >= Fleet::kCoordinator ? 3 : 1;
        options.observer = &sighting;
        return options;
    }
    /// Adds the watched host, or chooses the voter.
    void choose() {
        Profile slow = profile();
        slow.micro_batch_time *= 8;
        Profile stateless = profile();
        stateless.receives = false;
        switch (fleet) {
            case Fleet::kOnlyTrainer:
            case Fleet::kTrainer:
                watched = world.add(Role::kTrainer, profile());
                break;
            case Fleet::kSlowTrainer:
                watched = world.add(Role::kTrainer, slow);
                break;
            case Fleet::kAggregator:
                watched = world.add(Role::kAggregator, profile());
                break;
            case Fleet::kReducer:
                watched = world.add(Role::kAggregator, stateless);
                break;
            case Fleet::kCoordinator:
            case Fleet::kOtherVoter:
                require_all_at(world, StepIndex{1}, 60s);
                watched = *world.coordinator();
                if (fleet == Fleet::kOtherVoter) watched = (watched + 1) % 3;
                return;
        }
        sighting.watch(watched);
        world.start(watched);
    }
    bool is_member(const Round& round) const {
        return std::ranges::any_of(round.record.members, [&](const CommitLine& line) {
            const bool computes = world.role(watched) == Role::kTrainer;
            return line.peer == world.key(watched) && (!computes || line.samples > Samples{0});
        });
    }
    /// Runs until a round that counts the watched peer is decided on a state that is newer than any
    /// now.
    bool takes_part_within(Duration limit) {
        const StepIndex from = world.checkers().newest_step();
        return world.run_until(
            [&] {
                const Round* newest = world.checkers().newest_round();
                return newest != nullptr && newest->record.step > from && is_member(*newest);
            },
            limit);
    }

    const Fleet fleet;
    Sighting sighting;
    TestWorld world;
    TestWorld::Id watched = 0;
};

using Prepare = std::function<void(Case&)>;

/// Waits for the situation, lets the interruption happen, and requires that the watched peer takes
/// part again.
void play(std::uint64_t seed, Fleet fleet, const Situation& situation,
          const Interruption& interruption, const Prepare& prepare) {
    INFO("fleet " << static_cast<int>(fleet) << ": " << situation.name << "; " << interruption.name
                  << "; replay: " << replay_command(seed));
    Case one{seed, fleet, situation};
    const Watch watch{one.world};
    one.choose();
    prepare(one);
    const bool is_seen = one.world.run_until([&] { return one.sighting.is_seen(); }, 120s);
    CHECK(is_seen);
    if (!is_seen) return;
    interruption.happen(one.world, one.watched);
    const bool takes_part = one.takes_part_within(90s);
    CHECK(takes_part);
}

void play_all(const std::vector<Fleet>& fleets, const std::vector<Situation>& situations,
              const Prepare& prepare) {
    for (const auto seed : seeds(2)) {
        for (const Fleet fleet : fleets) {
            for (const Situation& situation : situations) {
                for (const Interruption& interruption : interruptions()) {
                    play(seed, fleet, situation, interruption, prepare);
                }
            }
        }
    }
}

/// The watched peer has been in a round, and is watched from now on.
void settle(Case& one) {
    const bool takes_part = one.takes_part_within(120s);
    REQUIRE(takes_part);
    one.sighting.watch(one.watched);
}

}  // namespace

TEST_CASE("a run begins although its only trainer is suspended while it loads the first state",
          "[state][sim]") {
    for (const auto seed : seeds(4)) {
        INFO("replay: " << replay_command(seed));
        TestWorld world{seed, options_for(seed, quick_rules(3, 200'000))};
        const Watch watch{world};
        world.add_backbone();
        const TestWorld::Id trainer = world.add_trainer(Profile::with_mbit(4, 4));
        world.run_for(2s);
        REQUIRE_FALSE(world.has_state(trainer));
        world.suspend(trainer);
        world.run_for(2s);
        world.resume(trainer);
        require_all_at(world, StepIndex{3}, 120s);
    }
}

TEST_CASE("a newcomer gets its first state, whatever interrupts it", "[state][sim]") {
    play_all({Fleet::kOnlyTrainer, Fleet::kTrainer, Fleet::kSlowTrainer, Fleet::kAggregator},
             newcomer(), [](Case&) {});
}

TEST_CASE("a trainer is in rounds again, whatever interrupts it in one", "[averaging][sim]") {
    play_all({Fleet::kOnlyTrainer, Fleet::kTrainer}, trainer_in_round(), settle);
}

TEST_CASE("an aggregator is in rounds again, whatever interrupts it in one", "[averaging][sim]") {
    play_all({Fleet::kAggregator, Fleet::kReducer}, aggregator_in_round(), settle);
}

TEST_CASE("a peer that is behind reaches the others, whatever interrupts it", "[state][sim]") {
    play_all({Fleet::kTrainer, Fleet::kAggregator}, behind(), [](Case& one) {
        settle(one);
        one.world.suspend(one.watched);
        const StepIndex from = one.world.checkers().newest_step();
        REQUIRE(one.world.run_until(
            [&] { return one.world.checkers().newest_step() >= StepIndex{from.value() + 2}; },
            120s));
        one.world.resume(one.watched);
        one.sighting.watch(one.watched);
    });
}

TEST_CASE("a trainer that holds its micro-batches is in rounds again, whatever interrupts it",
          "[averaging][sim]") {
    play_all({Fleet::kSlowTrainer}, when_done(), [](Case& one) {
        REQUIRE(one.world.run_until(
            [&] { return one.world.turn(one.watched) == TurnKind::kWhenDone; }, 300s));
        settle(one);
    });
}

TEST_CASE("a voter is in rounds again, whatever interrupts it in one", "[averaging][sim]") {
    play_all({Fleet::kOtherVoter}, voter(), settle);
    play_all({Fleet::kCoordinator}, coordinator(), settle);
}
