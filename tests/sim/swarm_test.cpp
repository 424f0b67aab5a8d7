// The protocol in the seeded world: complete runs, with one fault at a time.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "peer/wire/message_codec.hpp"
#include "tests/sim/scenario.hpp"

using namespace dedloc;
using namespace dedloc::sim;
using namespace dedloc::simulation;
using namespace std::chrono_literals;

namespace {

/// A backbone and some trainers, for `steps` steps.
struct Fleet {
    Fleet(std::uint64_t seed, std::uint64_t step_count, std::size_t trainer_count,
          std::uint64_t elements = 160, Codec codec = Codec::kFp32)
        : world(seed, options_for(seed, with(quick_rules(step_count, elements), codec))),
          steps(step_count) {
        world.add_backbone();
        trainers = world.add_trainers(trainer_count);
    }
    static RoundRules with(RoundRules rules, Codec codec) {
        rules.codec = codec;
        return rules;
    }
    void finish(Duration limit) { require_all_at(world, StepIndex{steps}, limit); }
    TestWorld world;
    const std::uint64_t steps;
    std::vector<TestWorld::Id> trainers;
    const Watch watch{world};
};

double mean_loss(const Round& round) {
    double loss = 0, samples = 0;
    for (const CommitLine& line : round.record.members) {
        loss += line.loss_sum;
        samples += static_cast<double>(line.samples.value());
    }
    return loss / samples;
}

Duration drawn(Random& random, std::uint64_t milliseconds) {
    return std::chrono::milliseconds{random.below(milliseconds)};
}

bool has_samples_of(const Round& round, const PeerKey& peer) {
    return std::any_of(
        round.record.members.begin(), round.record.members.end(),
        [&](const CommitLine& line) { return line.peer == peer && line.samples > Samples{0}; });
}

Profile slow_link(double mbit) {
    Profile profile = Profile::with_mbit(mbit, mbit);
    profile.holds_first_state = true;
    return profile;
}

bool was_cancelled(const TestWorld& world) {
    return std::ranges::any_of(world.trace().notes(), [](const std::string& note) {
        return note.find(" is off: ") != std::string::npos;
    });
}

/// Counts Stalled messages.
class StallWatch final : public Observer {
  public:
    void handles(TimePoint, NodeId, const Event&) override {}
    void has_handled(TimePoint, NodeId, const Actions& actions) override {
        for (const Action& action : actions) {
            const auto* send = std::get_if<action::Send>(&action);
            if (send == nullptr) continue;
            const auto message = wire::decode_unverified(*send->frame.whole());
            complaints += std::holds_alternative<wire::Stalled>(message->body) ? 1 : 0;
        }
    }
    std::size_t complaints = 0;
};

}  // namespace

TEST_CASE("three trainers and a backbone finish a run with equal states", "[averaging][sim]") {
    for (const auto seed : seeds(20)) {
        INFO("replay: " << replay_command(seed));
        Fleet fleet{seed, 10, 3};
        fleet.finish(60s);
        fleet.world.run_for(2s);
        require_clean_history(fleet.world, 10);
        require_equal_to_one_machine(fleet.world);
        for (TestWorld::Id id = 0; id < 4; ++id) REQUIRE(fleet.world.is_finished(id));
    }
}

TEST_CASE("parts of several chunks and states of many leaves are exchanged completely",
          "[averaging][sim]") {
    const Codec codec = GENERATE(Codec::kFp32, Codec::kFp16, Codec::kBf16, Codec::kInt8);
    Fleet fleet{1, 3, 2, 700'000, codec};
    fleet.finish(120s);
    require_clean_history(fleet.world, 3);
    REQUIRE(fleet.world.digest(1) == fleet.world.digest(0));
}

TEST_CASE("the same seed gives the same history", "[averaging][sim]") {
    const auto run = [](std::uint64_t seed) {
        Fleet fleet{seed, 5, 3};
        fleet.finish(60s);
        return fleet.world.trace_hash();
    };
    REQUIRE(run(5) == run(5));
    REQUIRE(run(5) != run(6));
}

TEST_CASE("the swarm comes close to the optimum of its quadratic", "[averaging][sim]") {
    const auto losses = [](Codec codec) {
        Fleet fleet{3, 150, 3, 160, codec};
        fleet.finish(600s);
        const auto rounds = fleet.world.checkers().history();
        return std::pair{mean_loss(rounds.front()), mean_loss(rounds.back())};
    };
    // Samples are uniform within 1 of the optimum, so the least possible mean loss is 1/6.
    const auto [first, last] = losses(Codec::kFp32);
    REQUIRE(first > 3);
    REQUIRE(last < 0.6);
    for (const Codec codec : {Codec::kFp16, Codec::kBf16, Codec::kInt8}) {
        INFO(name_of(codec));
        const auto [first_rounded, last_rounded] = losses(codec);
        REQUIRE(first_rounded > 3);
        REQUIRE(std::abs(last_rounded - last) < 0.05);
    }
}

TEST_CASE("a trainer that crashes at any moment costs no other peer anything", "[averaging][sim]") {
    for (const auto seed : seeds(60)) {
        INFO("replay: " << replay_command(seed));
        Random random{seed};
        Fleet fleet{seed, 12, 3};
        fleet.world.run_for(drawn(random, 8'000));
        fleet.world.crash(2, random.below(2) == 0 ? Exit::kFlushed : Exit::kSilent);
        fleet.world.run_for(drawn(random, 4'000));
        fleet.world.restart(2, random.below(2) == 0 ? Memory::kLost : Memory::kStale);
        fleet.finish(120s);
        require_clean_history(fleet.world, 12);
        require_equal_to_one_machine(fleet.world);
    }
}

TEST_CASE("a cancelled round is called again with the same contributions", "[averaging][sim]") {
    for (const auto seed : seeds(10)) {
        INFO("replay: " << replay_command(seed));
        RoundRules rules = quick_rules(8, 30'000);
        rules.round_timeout = 1s;
        rules.overlaps = seed % 2 == 0;
        TestWorld world{seed, options_for(seed, rules)};
        const Watch watch{world};
        world.add_backbone();
        Profile profile = Profile::home();
        profile.measures_bandwidth = false;  // plans go on promising a short round
        const auto trainers = world.add_trainers(4, profile);
        require_all_at(world, StepIndex{2}, 60s);
        for (const TestWorld::Id id : trainers) world.scale_bandwidth(id, 0.005);
        require_within(world, 60s, "a cancelled round", [&] { return was_cancelled(world); });
        for (const TestWorld::Id id : trainers) world.scale_bandwidth(id, 1);
        require_all_at(world, StepIndex{8}, 60s);
        require_every_state_equal(world, 8);
        require_nothing_lost(world);
    }
}

TEST_CASE("a trainer that hangs is dropped and returns when it wakes", "[averaging][sim]") {
    for (const auto seed : seeds(40)) {
        INFO("replay: " << replay_command(seed));
        Random random{seed};
        Fleet fleet{seed, 24, 3};
        fleet.world.run_for(drawn(random, 8'000));
        fleet.world.hang(3);
        fleet.world.run_for(8s + drawn(random, 8'000));
        fleet.world.wake(3);
        fleet.finish(180s);
        require_clean_history(fleet.world, 24);
    }
}

TEST_CASE("a new peer loads the state and joins the rounds", "[state][sim]") {
    for (const auto seed : seeds(40)) {
        INFO("replay: " << replay_command(seed));
        Random random{seed};
        Fleet fleet{seed, 20, 2};
        fleet.world.run_for(drawn(random, 9'000));
        const Profile profile = seed % 2 == 0 ? Profile{} : Profile{}.outbound_only();
        const auto late = fleet.world.add_trainer(profile);
        fleet.finish(120s);
        require_clean_history(fleet.world, 20);
        REQUIRE(has_samples_of(*fleet.world.checkers().newest_round(), fleet.world.key(late)));
    }
}

TEST_CASE("a peer that fetches an average slower than others compute a batch joins the rounds",
          "[state][sim]") {
    for (const auto seed : seeds(3)) {
        INFO("replay: " << replay_command(seed));
        // A batch takes 0.4 s. An average of 1 MB takes at least 1 s over 8 Mbit/s and a round 2 s.
        // So a peer that missed the last round would always be a step behind.
        RoundRules rules = quick_rules(80, 262'144);
        rules.target_batch = Samples{64};
        TestWorld world{seed, options_for(seed, rules)};
        const Watch watch{world};
        world.add_backbone(slow_link(8));
        world.add_trainers(4, slow_link(8));
        world.run_for(20s);
        const auto late = world.add_trainer(Profile::with_mbit(8, 8));
        const auto round_count = [&] { return world.checkers().newest_step().value(); };
        const auto is_in = [&](const Round& round) {
            return has_samples_of(round, world.key(late));
        };
        require_within(world, 60s, "the new peer is in a round",
                       [&] { return is_in(*world.checkers().newest_round()); });
        const std::size_t joined = round_count();
        require_within(world, 60s, "ten more rounds", [&] { return round_count() >= joined + 10; });
        const auto history = world.checkers().history();
        CHECK(std::all_of(history.begin() + static_cast<std::ptrdiff_t>(joined), history.end(),
                          is_in));
    }
}

TEST_CASE("a suspended trainer sends nothing and returns", "[boinc][sim]") {
    for (const auto seed : seeds(40)) {
        INFO("replay: " << replay_command(seed));
        Random random{seed};
        Fleet fleet{seed, 20, 3};
        fleet.world.run_for(drawn(random, 6'000));
        fleet.world.suspend(1);
        REQUIRE(fleet.world.run_until([&] { return fleet.world.has_left(1); }, 1s));
        fleet.world.run_for(drawn(random, 5'000));
        REQUIRE_FALSE(fleet.world.trainer(1).is_computing());
        fleet.world.resume(1);
        fleet.finish(120s);
        require_clean_history(fleet.world, 20);
    }
}

TEST_CASE("a gradient that is not finite is left out", "[averaging][sim]") {
    Fleet fleet{1, 5, 3};
    fleet.world.poison(1);
    fleet.finish(60s);
    const auto rounds = fleet.world.checkers().history();
    REQUIRE_FALSE(has_samples_of(rounds.front(), fleet.world.key(1)));
    REQUIRE(has_samples_of(rounds.back(), fleet.world.key(1)));
    require_clean_history(fleet.world, 5);
}

TEST_CASE("a trainer with damaged parameters fetches the state again", "[state][sim]") {
    for (const auto seed : seeds(20)) {
        INFO("replay: " << replay_command(seed));
        Fleet fleet{seed, 12, 3};
        fleet.world.run_for(4s);
        fleet.world.flip_a_bit(2);
        fleet.finish(120s);
        require_equal_to_one_machine(fleet.world);
        REQUIRE(has_samples_of(*fleet.world.checkers().newest_round(), fleet.world.key(2)));
    }
}

TEST_CASE("corrupted frames only close their link", "[wire][sim]") {
    for (const auto seed : seeds(20)) {
        INFO("replay: " << replay_command(seed));
        Fleet fleet{seed, 8, 3};
        fleet.world.corrupt(0.004);
        fleet.world.run_for(10s);
        fleet.world.corrupt(0);
        fleet.finish(300s);
        require_clean_history(fleet.world, 8);
    }
}

TEST_CASE("clocks that run fast or slow or jump forward change nothing", "[averaging][sim]") {
    for (const auto seed : seeds(20)) {
        INFO("replay: " << replay_command(seed));
        TestWorld world{seed, options_for(seed, quick_rules(10))};
        const Watch watch{world};
        Profile profile;
        world.add_backbone(profile);
        for (const std::int64_t ppm : {-100'000, 100'000, 30'000, -5'000}) {
            profile.drift_ppm = ppm;
            world.add_trainer(profile);
        }
        world.run_for(5s);
        world.jump_clock(1 + seed % 4, 3s);
        require_all_at(world, StepIndex{10}, 120s);
        require_clean_history(world, 10);
    }
}

TEST_CASE("an aggregator that holds no state averages for trainers that cannot be dialled",
          "[averaging][sim]") {
    for (const auto seed : seeds(10)) {
        INFO("replay: " << replay_command(seed));
        TestWorld world{seed, options_for(seed, quick_rules(10, 12'000))};
        const Watch watch{world};
        const auto backbone = world.add_backbone(Profile::home());
        world.add_trainers(3, Profile::home().outbound_only());
        Profile aggregator = Profile::office();
        aggregator.receives = false;
        const auto id = world.add_aggregator(aggregator);
        require_all_at(world, StepIndex{10}, 120s);
        require_clean_history(world, 10);
        require_equal_to_one_machine(world);
        REQUIRE(world.traffic(id).bytes_sent > 3 * 10 * 12'000 * 2);
        // It reports no state, and the backbone does not wait for one.
        world.run_for(5s);
        REQUIRE(world.is_finished(backbone));
        REQUIRE(world.is_finished(id));
    }
}

/// What a peer has averaged in the round of this step, in elements; nothing if it is not decided.
std::optional<std::uint64_t> reduced_in_round(const TestWorld& world, TestWorld::Id id,
                                              StepIndex step) {
    const auto history = world.checkers().history();
    if (step.value() >= history.size()) return std::nullopt;
    const CommitLine* const line = line_of(history[step.value()].record, world.key(id));
    return line != nullptr ? line->reduced : 0;
}

TEST_CASE("a peer that cannot be dialled any more stays, and reduces again when it can",
          "[averaging][sim]") {
    for (const auto seed : seeds(10)) {
        INFO("replay: " << replay_command(seed));
        TestWorld world{seed, options_for(seed, quick_rules(15, 12'000))};
        const Watch watch{world};
        Profile slow = Profile::home();
        slow.connection.upload_bytes_per_second /= 8;
        world.add_backbone(slow);
        const auto changing = world.add_trainer(Profile::office());
        world.add_trainers(2, Profile::home());
        require_all_at(world, StepIndex{5}, 120s);
        REQUIRE(reduced_in_round(world, changing, StepIndex{4}) > 0);
        world.set_dialable(changing, false);
        const auto later = world.add_trainer(Profile::home());  // cannot dial it
        require_all_at(world, StepIndex{10}, 120s);
        // The round of the change may have begun before it.
        for (std::uint64_t step = 7; step < 10; ++step) {
            REQUIRE(reduced_in_round(world, changing, StepIndex{step}) == 0);
        }
        world.set_dialable(changing, true);
        require_all_at(world, StepIndex{15}, 120s);
        REQUIRE(reduced_in_round(world, changing, StepIndex{14}) > 0);
        REQUIRE(world.loads(changing) <= 1);
        REQUIRE(world.step(later) == StepIndex{15});
        require_clean_history(world, 15);
        require_equal_to_one_machine(world);
    }
}

TEST_CASE("in a long round of slow links no peer is reported as stalled", "[averaging][sim]") {
    for (const auto seed : seeds(2)) {
        INFO("replay: " << replay_command(seed));
        // A step takes 15 s, and the slowest peers reduce one or two chunks. So for longer than the
        // stall timeout nothing arrives from them, or at them from equally slow peers.
        RoundRules rules = quick_rules(4, 262'144);
        rules.target_batch = Samples{512};
        StallWatch stalls;
        TestWorldOptions options = options_for(seed, rules);
        options.observer = &stalls;
        TestWorld world{seed, options};
        const Watch watch{world};
        world.add_backbone(slow_link(0.6));
        world.add_trainers(4, slow_link(2.4));
        world.add_trainers(8, slow_link(1.2));
        world.add_trainers(4, slow_link(0.6));
        require_all_at(world, StepIndex{4}, 400s);
        require_clean_history(world, 4);
        CHECK(stalls.complaints == 0);
    }
}

TEST_CASE("many new peers pass on the state of a backbone with a slow uplink", "[state][sim]") {
    for (const auto seed : seeds(2)) {
        INFO("replay: " << replay_command(seed));
        // Sending its 3 MB to all sixteen peers itself would take it 400 s.
        RoundRules rules = quick_rules(1, 262'144);
        rules.target_batch = Samples{512};
        TestWorld world{seed, options_for(seed, rules)};
        const Watch watch{world};
        const auto backbone = world.add_backbone(Profile::with_mbit(1, 100));
        world.add_trainers(16, Profile::home());
        require_within(world, 90s, "all peers hold the state", [&] {
            for (TestWorld::Id id = 0; id < world.size(); ++id) {
                if (!world.has_state(id)) return false;
            }
            return true;
        });
        CHECK(world.traffic(backbone).bytes_sent < 12'000'000);
    }
}

TEST_CASE("a voter that dies between a decision and its update fetches that round",
          "[state][sim]") {
    for (const auto seed : seeds(6)) {
        INFO("replay: " << replay_command(seed));
        TestWorld world{seed, options_for(seed, quick_rules(6))};
        const Watch watch{world};
        Profile profile = Profile::office();
        profile.apply_time = 500ms;
        const auto backbone = world.add_backbone(profile);
        world.add_trainers(3, Profile::home());
        // One of the seeds takes the last step, where no later decision shows the head.
        const StepIndex decided{1 + seed % 6};
        require_within(world, 60s, "the decision",
                       [&] { return world.checkers().newest_step() == decided; });
        world.crash(backbone);
        world.run_for(1s);
        world.restart(backbone);
        require_all_at(world, StepIndex{6}, 90s);
        require_clean_history(world, 6);
        CHECK(world.checkers().generation() == 0);
    }
}
