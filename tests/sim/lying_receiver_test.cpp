// Members that receive what they are sent and make it costly for the senders: they say late that
// they have the average, ask for everything again and again, or acknowledge nothing, so that their
// senders' windows stay full. They are members with a key and a ticket, so they are served up to
// bounds; what they cost the honest members in time, bytes and memory is bounded.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/hostile/misbehaviour.hpp"
#include "tests/sim/scenario.hpp"

using namespace dedloc;
using namespace dedloc::sim;
using namespace dedloc::simulation;
using namespace std::chrono_literals;
using hostile::Misbehaviour;

namespace {

constexpr std::uint64_t kRunSteps = 30;
constexpr std::size_t kHonestPeers = 7;
constexpr std::uint64_t kElements = 60'000;  // 240 kB in fp32: four times a link's window

/// What a run has cost the honest members.
struct Cost {
    double seconds = 0;
    std::size_t lost = 0;          ///< attempts that were cancelled or went on without a member
    std::uint64_t sent = 0;        ///< bytes of all honest members
    std::size_t liars_in = 0;      ///< lines of liars in records
    std::uint64_t max_queued = 0;  ///< bytes, of one member, when it was looked at each second
    std::string text() const {
        return fmt::format(
            "{:.0f} s, {} attempts lost, {:.1f} MB sent, at most {:.0f} kB queued, "
            "liars in {} rounds",
            seconds, lost, static_cast<double>(sent) / 1e6, static_cast<double>(max_queued) / 1e3,
            liars_in);
    }
};

/// A home of 16 Mbit/s in both directions, so that members reduce.
Profile narrow_home(Random& random) {
    Profile profile = Profile::home();
    profile.connection.upload_bytes_per_second = 2e6;
    profile.connection.download_bytes_per_second = 2e6;
    profile.connection.latency = std::chrono::milliseconds{5 + random.below(30)};
    profile.micro_batch_time = std::chrono::milliseconds{350 + random.below(150)};
    return profile;
}

Cost cost_of(std::uint64_t seed, const std::vector<Misbehaviour>& liars) {
    RoundRules rules = quick_rules(kRunSteps, kElements);
    rules.target_batch = Samples{480};
    rules.join_timeout = 10s;
    rules.round_timeout = 20s;
    TestWorldOptions options = options_for(seed, rules);
    options.network.window_bytes = 64 << 10;
    TestWorld world{seed, options};
    const Watch watch{world};
    Random random = Random{seed}.split(91);
    world.add_backbone(narrow_home(random));
    for (std::size_t i = 0; i < kHonestPeers; ++i) world.add_trainer(narrow_home(random));
    for (const Misbehaviour liar : liars) {
        // It is in the first round, whatever it can receive.
        Profile profile = narrow_home(random);
        profile.holds_first_state = true;
        world.add_hostile(liar, profile);
    }
    Cost cost;
    while (!world.are_all_at(StepIndex{kRunSteps})) {
        world.run_for(1s);
        for (TestWorld::Id id = 0; id <= kHonestPeers; ++id) {
            cost.max_queued = std::max(cost.max_queued, world.queued_bytes(id));
        }
        REQUIRE(world.now().time_since_epoch() < 600s);
    }
    require_clean_history(world, kRunSteps);
    require_equal_to_one_machine(world);
    cost.seconds = std::chrono::duration<double>(world.now().time_since_epoch()).count();
    for (const std::string& note : world.trace().notes()) {
        const bool is_lost = note.find(" is off: ") != std::string::npos ||
                             note.find(" goes on without ") != std::string::npos;
        cost.lost += is_lost ? 1 : 0;
    }
    for (const Round& round : world.checkers().history()) {
        for (const CommitLine& line : round.record.members) {
            const auto id = world.find(line.peer);
            cost.liars_in += id && world.is_hostile(*id) ? 1 : 0;
        }
    }
    for (TestWorld::Id id = 0; id <= kHonestPeers; ++id) cost.sent += world.traffic(id).bytes_sent;
    return cost;
}

void show(const std::string& text) {
    if (std::getenv("DEDLOC_SHOW") != nullptr) WARN(text);
}

}  // namespace

TEST_CASE("a lying receiver costs the others a bounded time, traffic and memory",
          "[averaging][sim]") {
    for (const Misbehaviour liar :
         {Misbehaviour::kLateReady, Misbehaviour::kRepeatedQueries, Misbehaviour::kClosedWindow}) {
        for (const auto seed : seeds(3)) {
            INFO("replay: " << replay_command(seed));
            const Cost honest = cost_of(seed, {});
            const Cost cost = cost_of(seed, {liar});
            const std::string text = fmt::format("{}, seed {}: {}; without it {}", name_of(liar),
                                                 seed, cost.text(), honest.text());
            INFO(text);
            show(text);
            CHECK(cost.lost <= 2);
            CHECK(cost.liars_in > 0);
            CHECK(cost.seconds < honest.seconds * 5 / 4 + 15);
            // Before donors limited what one peer gets, queries made honest members send 2.5 times
            // as many bytes.
            CHECK(cost.sent < 2 * honest.sent);
            CHECK(cost.max_queued <= honest.max_queued + RoundRules{}.window_bytes);
        }
    }
}
