// Swarms whose rounds are decided by one, three or five voters. Any minority may be absent for any
// time, all voters may crash and return, and the project may appoint other voters during a run.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <variant>
#include <vector>

#include "peer/simulation/observer.hpp"
#include "tests/sim/scenario.hpp"

using namespace dedloc;
using namespace dedloc::sim;
using namespace dedloc::simulation;
using namespace std::chrono_literals;

namespace {

/// Voters and trainers; the voters are hosts 0, 1, ….
struct Swarm {
    Swarm(std::uint64_t seed, std::size_t voter_count, std::size_t trainer_count,
          std::uint64_t steps, std::uint64_t target = 192, std::optional<bool> proves_links = {})
        : world(seed, options(seed, voter_count, steps, target, proves_links)),
          voters(world.add_voters()) {
        trainers = world.add_trainers(trainer_count);
    }
    /// Proven links save time, as most messages on them need no signature.
    static TestWorldOptions options(std::uint64_t seed, std::size_t voter_count,
                                    std::uint64_t steps, std::uint64_t target,
                                    std::optional<bool> proves_links = {}) {
        RoundRules rules = quick_rules(steps);
        rules.target_batch = Samples{target};
        TestWorldOptions made = options_for(seed, rules);
        made.voters = voter_count;
        made.proves_links = proves_links;
        return made;
    }
    /// Number of decided rounds that are not void.
    std::size_t steps() const { return world.checkers().newest_step().value(); }
    void require_steps(std::size_t more, Duration limit) {
        const std::size_t before = steps();
        require_within(world, limit, std::to_string(more) + " more steps",
                       [&] { return steps() >= before + more; });
    }

    TestWorld world;
    std::vector<TestWorld::Id> voters, trainers;
    const Watch watch{world};
};

/// Counts what the first host, the only voter, writes to its disk in decided rounds, and when it
/// begins to apply each of them.
class Writes final : public Observer {
  public:
    void handles(TimePoint, NodeId, const Event&) override {}
    void has_handled(TimePoint now, NodeId node, const Actions& actions) override {
        if (node != 0) return;
        for (const Action& action : actions) {
            const bool is_write = std::holds_alternative<action::Voted>(action) ||
                                  std::holds_alternative<action::Committed>(action);
            if (is_write && !ends.empty()) ++count;
            if (std::holds_alternative<action::Apply>(action)) ends.push_back(now);
        }
    }
    /// Mean time from round to round.
    double seconds() const {
        return std::chrono::duration<double>(ends.back() - ends.front()).count() /
               static_cast<double>(ends.size() - 1);
    }
    std::size_t count = 0;
    std::vector<TimePoint> ends;
};

Duration drawn(Random& random, std::uint64_t milliseconds) {
    return std::chrono::milliseconds{random.below(milliseconds)};
}

/// Returns random voters, as many as possible without a majority.
std::vector<TestWorld::Id> minority_of(std::vector<TestWorld::Id> voters, Random& random) {
    const std::size_t size = (voters.size() - 1) / 2;
    for (std::size_t i = voters.size(); i > 1; --i) {
        std::swap(voters[i - 1], voters[random.below(i)]);
    }
    voters.resize(size);
    return voters;
}

}  // namespace

TEST_CASE("one or three or five voters finish a run", "[membership][sim]") {
    for (const auto seed : seeds(30)) {
        INFO("replay: " << replay_command(seed));
        Swarm swarm{seed, 1 + 2 * (seed % 3), 3, 10};
        require_all_at(swarm.world, StepIndex{10}, 90s);
        swarm.world.run_for(2s);
        require_clean_history(swarm.world, 10);
        require_equal_to_one_machine(swarm.world);
        for (TestWorld::Id id = 0; id < swarm.world.size(); ++id) {
            REQUIRE(swarm.world.is_finished(id));
        }
    }
}

TEST_CASE("killing a minority of the voters stops no round", "[membership][sim]") {
    for (const auto seed : seeds(60)) {
        INFO("replay: " << replay_command(seed));
        Random random = Random{seed}.split(90);
        Swarm swarm{seed, 3 + 2 * (seed % 2), 3, 40};
        swarm.world.run_for(2s + drawn(random, 6'000));
        const auto dead = minority_of(swarm.voters, random);
        const Exit exit = random.below(2) == 0 ? Exit::kFlushed : Exit::kSilent;
        for (const TestWorld::Id id : dead) swarm.world.crash(id, exit);
        swarm.require_steps(6, 60s);
        for (const TestWorld::Id id : dead) swarm.world.restart(id, Memory::kStale);
        require_all_at(swarm.world, StepIndex{40}, 240s);
        REQUIRE(swarm.world.checkers().generation() == 1);
        require_clean_history(swarm.world, 40);
        require_equal_to_one_machine(swarm.world);
    }
}

TEST_CASE("a minority of the voters dies at every point of a round", "[membership][sim]") {
    for (const auto seed : seeds(2 * kPointCount)) {
        INFO("replay: " << replay_command(seed));
        Random random = Random{seed}.split(91);
        const std::size_t count = seed <= kPointCount ? 3 : 5;
        const Point point = all_points()[(seed - 1) % kPointCount];
        INFO(count << " voters, point: " << name_of(point));
        Swarm swarm{seed, count, 3, 30};
        swarm.require_steps(2, 60s);
        const auto dead = minority_of(swarm.voters, random);
        for (const TestWorld::Id id : dead) {
            swarm.world.kill(id, point, StepIndex{swarm.steps()}, Exit::kSilent);
        }
        swarm.require_steps(4, 90s);
        for (const TestWorld::Id id : dead) {
            swarm.world.spare(id);
            if (!swarm.world.is_alive(id)) swarm.world.restart(id);
        }
        require_all_at(swarm.world, StepIndex{30}, 240s);
        require_clean_history(swarm.world, 30);
        require_equal_to_one_machine(swarm.world);
    }
}

TEST_CASE("all voters crash at any point of a round and the run continues when they return",
          "[membership][sim]") {
    for (const auto seed : seeds(3 * kPointCount)) {
        INFO("replay: " << replay_command(seed));
        Random random = Random{seed}.split(92);
        const std::size_t count = 1 + 2 * (seed % 3);
        const Point point = all_points()[(seed - 1) % kPointCount];
        INFO(count << " voters, point: " << name_of(point));
        Swarm swarm{seed, count, 3, 14};
        swarm.require_steps(2, 60s);
        const TestWorld::Id first = *swarm.world.coordinator();
        swarm.world.kill(first, point, StepIndex{swarm.steps()});
        swarm.world.run_for(4s);
        for (const TestWorld::Id id : swarm.voters) {
            swarm.world.spare(id);
            swarm.world.crash(id, Exit::kCutOff);
        }
        const std::size_t before = swarm.steps();
        swarm.world.run_for(drawn(random, 60'000));
        REQUIRE(swarm.steps() == before);  // nothing is decided without a voter
        for (const TestWorld::Id id : swarm.voters) {
            const auto wait = drawn(random, 3'000);
            swarm.world.after(wait, [&swarm, id] { swarm.world.restart(id); });
        }
        require_all_at(swarm.world, StepIndex{14}, 180s);
        require_clean_history(swarm.world, 14);
        require_equal_to_one_machine(swarm.world);
    }
}

TEST_CASE("after minutes without the backbone no step is lost and the first commit comes at once",
          "[membership][sim]") {
    for (const auto seed : seeds(20)) {
        INFO("replay: " << replay_command(seed));
        Random random = Random{seed}.split(93);
        Swarm swarm{seed, 1, 3, 30};
        swarm.world.run_for(4s + drawn(random, 5'000));
        const std::size_t before = swarm.steps();
        swarm.world.crash(0, random.below(2) == 0 ? Exit::kSilent : Exit::kFlushed);
        swarm.world.run_for(10min);
        // They have stopped at about one target batch instead of computing for ten minutes.
        std::size_t computing = 0;
        for (const TestWorld::Id id : swarm.trainers) {
            computing += swarm.world.trainer(id).is_computing() ? 1 : 0;
        }
        REQUIRE(computing == 0);
        const auto newcomer = swarm.world.add_trainer();
        swarm.world.restart(0);
        require_within(swarm.world, 10s, "a commit", [&] { return swarm.steps() > before; });
        const CommitRecord first = swarm.world.checkers().history()[before].record;
        Samples held;
        for (const CommitLine& line : first.members) held += line.samples;
        // They compute 120 samples/s for five seconds, until the backbone times out.
        REQUIRE(held.value() >= 150);
        REQUIRE(held.value() <= 192 + 120 * 6);
        require_all_at(swarm.world, StepIndex{30}, 120s);
        const CommitRecord last = swarm.world.checkers().newest_round()->record;
        REQUIRE(line_of(last, swarm.world.key(newcomer)) != nullptr);
        require_clean_history(swarm.world, 30);
        require_equal_to_one_machine(swarm.world);
    }
}

TEST_CASE("a run continues although the backbone dies before or after its vote for a state",
          "[membership][sim]") {
    for (const auto seed : seeds(60)) {
        INFO("replay: " << replay_command(seed));
        Random random = Random{seed}.split(96);
        Swarm swarm{seed, 1, 3, 20};
        swarm.require_steps(2 + random.below(4), 60s);
        // Crash it between the decision that leads to this state and the time when all peers know
        // the state's certificate.
        const StepIndex next{swarm.steps() + 1};
        const auto decided = [&] { return swarm.world.ledger_length(0) >= next.value(); };
        require_within(swarm.world, 60s, "a decision", decided);
        swarm.world.run_for(drawn(random, seed % 2 == 0 ? 3 : 60));
        const Exit exit = random.below(2) == 0 ? Exit::kSilent : Exit::kFlushed;
        swarm.world.crash(0, exit);
        swarm.world.run_for(drawn(random, 8'000));
        swarm.world.restart(0, random.below(2) == 0 ? Memory::kStale : Memory::kDisk);
        const std::size_t before = swarm.world.ledger_length(0);
        require_within(swarm.world, 15s, "a commit",
                       [&] { return swarm.world.ledger_length(0) > before; });
        require_all_at(swarm.world, StepIndex{20}, 120s);
        REQUIRE(swarm.world.checkers().generation() == 0);
        require_clean_history(swarm.world, 20);
        require_equal_to_one_machine(swarm.world);
    }
}

TEST_CASE("a voter that returns after a thousand steps fills the gap in its ledger",
          "[membership][sim]") {
    const std::uint64_t seed = seeds(1).front();
    INFO("replay: " << replay_command(seed));
    Swarm swarm{seed, 3, 2, 1'100, 32, true};
    swarm.world.run_for(4s);
    swarm.world.crash(1, Exit::kSilent);
    require_within(swarm.world, 30min, "a thousand steps", [&] { return swarm.steps() >= 1'020; });
    swarm.world.restart(1);
    const TimePoint back = swarm.world.now();
    require_within(swarm.world, 60s, "it votes again", [&] {
        return swarm.world.ledger_length(1) + 5 >= swarm.world.ledger_length(0);
    });
    WARN("caught up on a thousand commits in "
         << std::chrono::duration<double>(swarm.world.now() - back).count() << " s");
    // Without the other voter it is needed for a majority.
    swarm.world.crash(2, Exit::kSilent);
    swarm.require_steps(5, 60s);
    require_clean_history(swarm.world, swarm.steps());
}

TEST_CASE("three and five voters start at any time", "[membership][sim]") {
    for (const auto seed : seeds_or_more(250)) {
        INFO("replay: " << replay_command(seed));
        Random random = Random{seed}.split(94);
        const std::size_t count = 3 + 2 * random.below(2);
        TestWorld world{seed, Swarm::options(seed, count, 3, 96)};
        const Watch watch{world};
        for (std::size_t i = 0; i < count; ++i) world.add(Role::kBackbone, {});
        for (int i = 0; i < 2; ++i) world.add(Role::kTrainer, {});
        for (TestWorld::Id id = 0; id < world.size(); ++id) {
            world.after(drawn(random, 8'000), [&world, id] { world.start(id); });
        }
        for (std::uint64_t cuts = random.below(6); cuts > 0; --cuts) {
            const auto id = static_cast<TestWorld::Id>(random.below(world.size()));
            const std::uint64_t which = random.next();
            world.after(drawn(random, 12'000), [&world, id, which] { world.cut(id, which); });
        }
        world.run_for(8s);
        require_all_at(world, StepIndex{3}, 120s);
        require_clean_history(world, 3);
    }
}

TEST_CASE("a partition among voters that heals leaves one history", "[membership][sim]") {
    for (const auto seed : seeds(150)) {
        INFO("replay: " << replay_command(seed));
        Random random = Random{seed}.split(95);
        Swarm swarm{seed, 3 + 2 * (seed % 2), 3, 15};
        swarm.world.run_for(drawn(random, 8'000));
        std::vector<TestWorld::Id> side;
        for (TestWorld::Id id = 0; id < swarm.world.size(); ++id) {
            if (random.below(2) == 0) side.push_back(id);
        }
        if (seed % 3 == 0) {
            // Block one direction only.
            for (const TestWorld::Id id : side) {
                if (id != (id + 1) % 3) swarm.world.block(id, (id + 1) % 3, true);
            }
        } else {
            swarm.world.partition(side);
        }
        swarm.world.run_for(drawn(random, 40'000));
        swarm.world.heal();
        require_all_at(swarm.world, StepIndex{15}, 240s);
        require_clean_history(swarm.world, 15);
        require_equal_to_one_machine(swarm.world);
    }
}

TEST_CASE("voters are appointed and dismissed while a run goes on", "[membership][sim]") {
    for (const auto seed : seeds(40)) {
        INFO("replay: " << replay_command(seed));
        Random random = Random{seed}.split(96);
        Swarm swarm{seed, 1, 3, 40};
        swarm.world.run_for(3s + drawn(random, 3'000));
        const auto second = swarm.world.add_backbone();
        const auto third = swarm.world.add_backbone();
        swarm.world.run_for(drawn(random, 3'000));
        swarm.world.appoint({0, second, third});
        require_within(swarm.world, 30s, "three voters",
                       [&] { return swarm.world.checkers().generation() == 1; });
        swarm.require_steps(3, 30s);
        // Now any voter may crash, including the first one.
        const TestWorld::Id gone = std::array{TestWorld::Id{0}, second, third}[random.below(3)];
        swarm.world.crash(gone, Exit::kSilent);
        swarm.require_steps(3, 60s);
        swarm.world.restart(gone);
        swarm.require_steps(2, 60s);
        swarm.world.appoint({0, third});
        require_within(swarm.world, 60s, "two voters",
                       [&] { return swarm.world.checkers().generation() == 2; });
        swarm.world.crash(second, Exit::kFlushed);
        swarm.require_steps(3, 60s);
        swarm.world.appoint({0});
        require_within(swarm.world, 60s, "one voter",
                       [&] { return swarm.world.checkers().generation() == 3; });
        swarm.world.crash(third, Exit::kFlushed);
        require_all_at(swarm.world, StepIndex{40}, 240s);
        require_equal_to_one_machine(swarm.world);
        REQUIRE(swarm.steps() == 40);
    }
}

TEST_CASE("a majority that is lost for good is replaced by a new generation", "[membership][sim]") {
    for (const auto seed : seeds(20)) {
        INFO("replay: " << replay_command(seed));
        Random random = Random{seed}.split(97);
        Swarm swarm{seed, 3, 3, 20};
        swarm.world.run_for(4s + drawn(random, 4'000));
        swarm.world.crash(1, Exit::kSilent);
        swarm.world.crash(2, Exit::kSilent);
        swarm.world.run_for(30s);
        const std::size_t before = swarm.steps();
        swarm.world.run_for(30s);
        REQUIRE(swarm.steps() == before);
        swarm.world.appoint({0});
        require_all_at(swarm.world, StepIndex{20}, 120s);
        REQUIRE(swarm.world.checkers().generation() == 2);
        require_equal_to_one_machine(swarm.world);
    }
}

TEST_CASE("a slow disk of the only voter delays a round by its writes", "[membership][sim]") {
    constexpr std::uint64_t kSteps = 20;
    constexpr double kLatency = 0.2;
    double without = 0;
    for (const double latency : {0.0, kLatency}) {
        Writes writes;
        TestWorldOptions options = Swarm::options(1, 1, kSteps, 192);
        options.observer = &writes;
        TestWorld world{1, options};
        const Watch watch{world};
        Profile profile;
        profile.disk_latency = Duration{static_cast<std::int64_t>(latency * 1e9)};
        world.add_backbone(profile);
        (void)world.add_trainers(3);
        require_all_at(world, StepIndex{kSteps}, 180s);
        world.run_for(2s);
        require_clean_history(world, kSteps);
        require_equal_to_one_machine(world);
        REQUIRE(writes.ends.size() == kSteps);
        if (latency == 0) {
            without = writes.seconds();
            continue;
        }
        const double each = static_cast<double>(writes.count) / kSteps;
        INFO(each << " writes a round; rounds " << without << " s, with the disk "
                  << writes.seconds() << " s");
        CHECK(each >= 2);  // its vote, and the decision
        CHECK(writes.seconds() > without + 0.9 * kLatency);
        CHECK(writes.seconds() < without + 1.1 * kLatency * each);
    }
}

TEST_CASE("a voter that dies while it writes has neither voted nor forgotten a vote",
          "[membership][sim]") {
    for (const auto seed : seeds(60)) {
        INFO("replay: " << replay_command(seed));
        Random random = Random{seed}.split(95);
        TestWorld world{seed, Swarm::options(seed, 3, 12, 192)};
        const Watch watch{world};
        Profile profile;
        // So slow that most of a round is spent on writes.
        profile.disk_latency = 100ms + drawn(random, 400);
        const auto voters = world.add_voters(profile);
        (void)world.add_trainers(3);
        for (int k = 0; k < 6; ++k) {
            world.run_for(drawn(random, 4'000));
            const TestWorld::Id victim = voters[random.below(voters.size())];
            if (random.below(3) == 0) {
                world.hang(victim);
                world.run_for(drawn(random, 2'000));
                world.wake(victim);
            } else {
                world.crash(victim, random.below(2) == 0 ? Exit::kFlushed : Exit::kSilent);
                world.run_for(drawn(random, 3'000));
                world.restart(victim);
            }
        }
        require_all_at(world, StepIndex{12}, 300s);
        world.run_for(2s);
        require_clean_history(world, 12);
        require_equal_to_one_machine(world);
    }
}
