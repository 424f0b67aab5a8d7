// A swarm with more members than a peer's view: the coordinator sends plans and commits by relays.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "peer/wire/limits.hpp"
#include "peer/wire/message_codec.hpp"
#include "tests/sim/scenario.hpp"

using namespace dedloc;
using namespace dedloc::sim;
using namespace dedloc::simulation;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kTrainers = 75;

/// Counts the frames that each relay forwards, and the plans and changes of plans.
class RelayWatch final : public Observer {
  public:
    void handles(TimePoint, NodeId, const Event&) override {}
    void has_handled(TimePoint, NodeId node, const Actions& actions) override {
        for (const Action& action : actions) {
            const auto* send = std::get_if<action::Send>(&action);
            if (send == nullptr) continue;
            const auto message = wire::decode_unverified(*send->frame.whole());
            if (std::holds_alternative<wire::Relay>(message->body)) ++passed_on[node];
            if (const auto* plan = std::get_if<wire::Plan>(&message->body)) {
                plan_bytes = std::max(plan_bytes, send->frame.size());
                ++plans[plan->attempt];
            }
            if (const auto* change = std::get_if<wire::PlanChange>(&message->body)) {
                change_bytes = std::max(change_bytes, send->frame.size());
                ++changes[change->attempt];
            }
        }
    }
    std::size_t plan_bytes = 0;                           ///< the largest plan
    std::size_t change_bytes = 0;                         ///< the largest change
    std::map<std::uint32_t, std::size_t> plans, changes;  ///< frames by attempt
    std::map<NodeId, std::size_t> passed_on;
};

/// What the first host notes.
class CoordinatorNotes final : public Observer {
  public:
    void handles(TimePoint, NodeId, const Event&) override {}
    void has_handled(TimePoint now, NodeId node, const Actions& actions) override {
        if (node != 0) return;
        const std::chrono::duration<double> when = now.time_since_epoch();
        for (const Action& action : actions) {
            const auto* note = std::get_if<action::Note>(&action);
            if (note != nullptr)
                lines.push_back(fmt::format("{:.3f} s: {}", when.count(), note->line));
        }
    }
    /// Notes with these words.
    std::ptrdiff_t count(std::string_view words) const {
        return std::ranges::count_if(
            lines, [&](const std::string& line) { return line.find(words) != std::string::npos; });
    }
    std::vector<std::string> lines;
};

/// A coordinator whose uplink is slow, many trainers, and three fast ones that relay for it.
struct LargeFleet {
    explicit LargeFleet(std::uint64_t seed) : world(seed, options(seed, relays)) {
        world.add_backbone(Profile::with_mbit(4, 100));
        fast = world.add_trainers(3, with_batches(Profile::with_mbit(400, 400)));
        world.add_trainers(kTrainers - 3, with_batches(Profile::with_mbit(20, 100)));
        // So slow that it reduces nothing and is linked with no relay.
        Profile idle = Profile::with_mbit(1, 1);
        idle.receives = false;
        world.add_aggregator(idle);
        peers = kTrainers + 2;
    }
    static Profile with_batches(Profile profile) {
        profile.micro_batch_time = 1s;
        return profile;
    }
    static TestWorldOptions options(std::uint64_t seed, RelayWatch& watch) {
        RoundRules rules = quick_rules(5);
        rules.target_batch = Samples{kTrainers * 8 * 3};
        TestWorldOptions options = options_for(seed, rules);
        options.observer = &watch;
        return options;
    }
    /// Waits for a round of which all peers were members; from then on views are smaller than the
    /// swarm.
    void fill() {
        require_within(world, 120s, "a round with all peers", [&] {
            const auto history = world.checkers().record_count();
            if (history == 0 || history == seen_) return false;
            seen_ = history;
            return world.checkers().newest_round()->record.members.size() == peers;
        });
    }

    RelayWatch relays;
    TestWorld world;
    std::vector<TestWorld::Id> fast;
    std::size_t peers = 0;
    const Watch watch{world};

  private:
    std::size_t seen_ = 0;
};

}  // namespace

TEST_CASE("in a large swarm relays forward the messages of a slow coordinator",
          "[averaging][sim]") {
    LargeFleet fleet{1};
    fleet.fill();
    const CommitRecord record = fleet.world.checkers().newest_round()->record;
    REQUIRE(record.members.size() > 65);
    require_all_at(fleet.world, StepIndex{5}, 120s);
    fleet.world.run_for(2s);
    require_clean_history(fleet.world, 5);
    require_equal_to_one_machine(fleet.world);
    REQUIRE_FALSE(fleet.relays.passed_on.empty());
    for (const auto& [node, frames] : fleet.relays.passed_on) {
        REQUIRE(std::count(fleet.fast.begin(), fleet.fast.end(), node) == 1);
        REQUIRE(frames > kTrainers / 3);
    }
}

TEST_CASE("a peer whose relay fails receives messages from the coordinator", "[averaging][sim]") {
    LargeFleet fleet{2};
    fleet.fill();
    require_all_at(fleet.world, fleet.world.checkers().newest_step().next(), 60s);
    const StepIndex next = fleet.world.checkers().newest_step();
    REQUIRE(next < StepIndex{5});
    REQUIRE_FALSE(fleet.relays.passed_on.empty());
    const TestWorld::Id relay = fleet.relays.passed_on.begin()->first;
    fleet.world.kill(relay, Point::kBeforePlanHandled, next, Exit::kSilent);
    const TimePoint begin = fleet.world.now();
    require_all_at(fleet.world, next.next(), 60s);
    REQUIRE(fleet.world.killed_in(relay) == next);
    REQUIRE(fleet.world.now() - begin < 30s);
    require_all_at(fleet.world, StepIndex{5}, 120s);
}

TEST_CASE("in a large swarm an amendment goes as a change of the plan", "[averaging][sim]") {
    LargeFleet fleet{3};
    fleet.fill();
    const StepIndex step = fleet.world.checkers().newest_step();
    REQUIRE(step < StepIndex{5});
    fleet.world.kill(20, Point::kFirstScatterSent, step, Exit::kSilent);
    require_all_at(fleet.world, step.next(), 60s);
    REQUIRE(fleet.world.killed_in(20) == step);
    require_all_at(fleet.world, StepIndex{5}, 120s);
    fleet.world.run_for(2s);
    require_clean_history(fleet.world, 5);
    require_equal_to_one_machine(fleet.world);
    // Most members hold the plan that is amended; the others get the new one whole.
    REQUIRE_FALSE(fleet.relays.changes.empty());
    for (const auto& [attempt, frames] : fleet.relays.changes) {
        INFO("attempt " << attempt << ": " << frames << " changes, " << fleet.relays.plans[attempt]
                        << " plans");
        CHECK(frames > fleet.relays.plans[attempt]);
    }
    CHECK(10 * fleet.relays.change_bytes < fleet.relays.plan_bytes);
}

TEST_CASE("no member takes a coordinator for dead while its first plan is under way",
          "[averaging][sim]") {
    constexpr std::size_t kMany = 130;
    RoundRules rules = quick_rules(2);
    rules.target_batch = Samples{kMany * 8 * 3};
    CoordinatorNotes notes;
    TestWorldOptions options = options_for(1, rules);
    options.observer = &notes;
    TestWorld world{1, options};
    const Watch watch{world};
    // 130 plans take 8 s, and no peer is linked with a relay yet.
    world.add_backbone(Profile::with_mbit(1, 100));
    world.add_trainers(kMany, LargeFleet::with_batches(Profile::with_mbit(20, 100)));
    world.set_paused(true);
    world.run_for(60s);
    world.set_paused(false);
    // One is lost before it has the plan, another one after that.
    world.kill(17, Point::kBeforePlanHandled, StepIndex{0}, Exit::kSilent);
    world.kill(18, Point::kFirstScatterSent, StepIndex{0}, Exit::kSilent);
    require_within(world, 120s, "the first round",
                   [&] { return world.checkers().record_count() == 1; });
    CHECK(world.killed_in(17) == StepIndex{0});
    CHECK(world.killed_in(18) == StepIndex{0});
    INFO(fmt::format("{}", fmt::join(notes.lines, "\n")));
    CHECK(notes.count(" was lost in the round ") <= 2);
    CHECK(notes.count(" goes on without ") <= 2);
    CHECK(notes.count(" is off: ") == 0);
    CHECK(world.checkers().history().front().record.members.size() >= kMany - 1);
}
