// Fleets with a peer that is twenty times slower than the others, in its link or in its computing:
// what the swarm computes with it, without it, and when the coordinator decides.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdio>
#include <map>

#include "peer/planning/turns.hpp"
#include "tests/sim/scenario.hpp"

using namespace dedloc;
using namespace dedloc::sim;
using namespace dedloc::simulation;
using namespace std::chrono_literals;

namespace {

/// A step of eight equal peers: 3 s of computing, and 0.4 s for a round.
RoundRules rules_of_fleets() {
    RoundRules rules = quick_rules(100'000, 590'000);
    rules.target_batch = Samples{240};
    return rules;
}

/// A peer with this bandwidth in both directions and this time for a micro-batch of one sample.
Profile peer_with(double mbit, Duration micro_batch_time) {
    Profile profile = Profile::with_mbit(mbit, mbit);
    profile.micro_batch = 1;
    profile.micro_batch_time = micro_batch_time;
    profile.apply_time = 20ms;
    profile.holds_first_state = true;
    return profile;
}

/// A fleet beside its backbone.
struct Fleet {
    const char* name;
    std::vector<Profile> peers;
    double last_link = 1;  ///< the last peer's link has this part of the bandwidth that it claims
};

Fleet eight_and(const char* name, const std::vector<Profile>& others) {
    Fleet fleet{.name = name, .peers = std::vector<Profile>(8, peer_with(100, 100ms))};
    fleet.peers.insert(fleet.peers.end(), others.begin(), others.end());
    return fleet;
}

/// Two equal peers, and one whose upload is slow.
Fleet two_and_a_slow_upload() {
    Profile slow = Profile::with_mbit(8, 100);
    slow.micro_batch = 1;
    slow.micro_batch_time = 100ms;
    slow.holds_first_state = true;
    return {.name = "", .peers = {peer_with(100, 100ms), peer_with(100, 100ms), slow}};
}

/// Sixteen peers with bandwidths of 5 to 200 Mbit/s and micro-batches of 0.05 to 2 s.
std::vector<Profile> unequal() {
    std::vector<Profile> peers;
    for (const double mbit : {5.0, 20.0, 80.0, 200.0}) {
        for (const Duration time : {Duration{50ms}, Duration{100ms}, Duration{500ms}, Duration{2s}})
            peers.push_back(peer_with(mbit, time));
    }
    return peers;
}

/// What a swarm has counted.
struct Counted {
    double samples_per_second = 0;
    std::vector<std::uint64_t> samples;  ///< one sum for each peer of the fleet
    std::vector<TurnKind> turns;         ///< at the end
};

/// Plays the fleet for `warm`, then counts what records say over `time`.
Counted played(const Fleet& fleet, const RoundRules& rules, Duration warm, Duration time,
               std::uint64_t seed = 1) {
    auto options = options_for(seed, rules);
    options.computes_averages = false;
    options.proves_links = true;
    TestWorld world{seed, options};
    const Watch watch{world};
    world.add_backbone(Profile::with_mbit(100, 100));
    std::vector<TestWorld::Id> ids;
    for (const Profile& peer : fleet.peers) ids.push_back(world.add_trainer(peer));
    if (fleet.last_link != 1) world.scale_bandwidth(ids.back(), fleet.last_link);
    world.run_for(warm);
    const std::size_t before = world.checkers().newest_step().value();
    world.run_for(time);
    Counted counted;
    std::map<PeerKey, std::uint64_t> samples;
    std::uint64_t all = 0;
    const auto rounds = world.checkers().history();
    for (std::size_t k = before; k < rounds.size(); ++k) {
        for (const CommitLine& line : rounds[k].record.members) {
            samples[line.peer] += line.samples.value();
            all += line.samples.value();
        }
    }
    for (const TestWorld::Id id : ids) {
        counted.samples.push_back(samples[world.key(id)]);
        counted.turns.push_back(world.turn(id));
    }
    counted.samples_per_second =
        static_cast<double>(all) / std::chrono::duration<double>(time).count();
    return counted;
}

/// The planner's view of the fleet and its backbone.
planning::FleetRequest request_for(const Fleet& fleet, const RoundRules& rules) {
    const planning::WireSize codec = planning::on_the_wire(rules.codec);
    planning::FleetRequest request{.round = {.members = {},
                                             .elements = rules.elements,
                                             .contribution = codec,
                                             .average = codec,
                                             .latency = 20ms},
                                   .samples_per_second = {0},
                                   .micro_batch_seconds = {0},
                                   .target_batch = rules.target_batch.value(),
                                   .overlaps = rules.overlaps};
    const auto bytes = [](double rate) { return Bandwidth{static_cast<std::uint64_t>(rate)}; };
    request.round.members.push_back(
        {.upload = bytes(12.5e6), .download = bytes(12.5e6), .contributes = false});
    for (const Profile& peer : fleet.peers) {
        const double time = std::chrono::duration<double>(peer.micro_batch_time).count();
        request.round.members.push_back(
            {.upload = bytes(peer.connection.upload_bytes_per_second),
             .download = bytes(peer.connection.download_bytes_per_second)});
        request.samples_per_second.push_back(static_cast<double>(peer.micro_batch) / time);
        request.micro_batch_seconds.push_back(time);
    }
    request.round.chunk_elements = planning::chunk_elements_for(request.round);
    return request;
}

RoundRules without_choice(RoundRules rules) {
    rules.chooses_trainers = false;
    return rules;
}

std::vector<Fleet> fleets() {
    return {eight_and("8 equal", {}),
            eight_and("8 and a slow link", {peer_with(5, 100ms)}),
            eight_and("8 and a slow computer", {peer_with(100, 2s)}),
            eight_and("8 and one slow in both", {peer_with(5, 2s)}),
            eight_and("8 and micro-batches of 90 s", {peer_with(100, 90s)}),
            {"16 unequal", unequal()}};
}

}  // namespace

TEST_CASE("a peer that is too slow in its link rests, and the swarm is as fast as without it",
          "[averaging][sim]") {
    const Fleet fleet = fleets()[1];
    const Counted all = played(fleet, without_choice(rules_of_fleets()), 60s, 60s);
    const Counted chosen = played(fleet, rules_of_fleets(), 60s, 60s);
    CHECK(chosen.turns.back() == TurnKind::kRest);
    CHECK(chosen.samples_per_second > 1.8 * all.samples_per_second);
    // It is asked again, ever more rarely.
    CHECK(chosen.samples.back() < all.samples.back() / 4);
}

TEST_CASE("no peer waits for one that is slow in computing, and its samples count",
          "[averaging][sim]") {
    const Fleet fleet = fleets()[2];
    const Counted all = played(fleet, without_choice(rules_of_fleets()), 60s, 80s);
    const Counted chosen = played(fleet, rules_of_fleets(), 60s, 80s);
    CHECK(chosen.turns.back() == TurnKind::kWhenDone);
    CHECK(chosen.samples_per_second > 1.2 * all.samples_per_second);
    // A sample takes it 2 s, and a step 3.4 s.
    CHECK(chosen.samples.back() >= 20);
}

TEST_CASE("a peer whose micro-batches take longer than join_timeout gets in", "[averaging][sim]") {
    RoundRules rules = rules_of_fleets();
    rules.target_batch = Samples{2'400};  // steps of 30 s
    const Fleet fleet = eight_and("", {peer_with(100, 70s)});
    const Counted all = played(fleet, without_choice(rules), 300s, 1'200s);
    const Counted chosen = played(fleet, rules, 300s, 1'200s);
    CHECK(all.samples.back() == 0);
    CHECK(chosen.turns.back() == TurnKind::kWhenDone);
    CHECK(chosen.samples.back() >= 8);
    CHECK(chosen.samples_per_second > all.samples_per_second);
}

TEST_CASE("a peer whose micro-batches last longer than samples count does not compute in vain",
          "[averaging][sim]") {
    const Fleet fleet = fleets()[4];
    const Counted chosen = played(fleet, rules_of_fleets(), 200s, 80s);
    CHECK(chosen.turns.back() >= TurnKind::kReduceOnly);
    CHECK(chosen.samples_per_second > 68);
}

TEST_CASE("a peer with a slow upload takes part in some rounds with the samples of all of them",
          "[averaging][sim]") {
    RoundRules rules = rules_of_fleets();
    rules.target_batch = Samples{100};
    const Fleet fleet = two_and_a_slow_upload();
    const Counted all = played(fleet, without_choice(rules), 20s, 160s);
    const Counted chosen = played(fleet, rules, 20s, 160s);
    CHECK(chosen.turns.back() == TurnKind::kSomeRounds);
    CHECK(chosen.samples.back() > 300);
    CHECK(chosen.samples_per_second > 1.1 * all.samples_per_second);
}

TEST_CASE("the last round has the samples of a peer that takes part in some rounds",
          "[averaging][sim]") {
    const auto last_step = GENERATE(range(std::uint64_t{20}, std::uint64_t{25}));
    RoundRules rules = rules_of_fleets();
    rules.target_batch = Samples{100};
    rules.last_step = StepIndex{last_step};
    TestWorld world{1, options_for(1, rules)};
    const Watch watch{world};
    world.add_backbone(Profile::with_mbit(100, 100));
    std::vector<TestWorld::Id> ids;
    for (const Profile& peer : two_and_a_slow_upload().peers)
        ids.push_back(world.add_trainer(peer));
    require_within(world, 300s, "the run is over", [&] {
        return std::ranges::all_of(ids, [&](auto id) { return world.is_finished(id); });
    });
    CHECK(world.turn(ids.back()) == TurnKind::kSomeRounds);
    const auto history = world.checkers().history();
    REQUIRE(history.size() == last_step);
    const auto taken = std::ranges::count_if(history, [&](const auto& round) {
        return line_of(round.record, world.key(ids.back())) != nullptr;
    });
    CHECK(static_cast<std::uint64_t>(taken) < last_step - 4);
    const CommitLine* line = line_of(history.back().record, world.key(ids.back()));
    REQUIRE(line != nullptr);
    CHECK(line->samples > Samples{0});
}

TEST_CASE("a peer whose link was slow for a while is back a few rounds later", "[averaging][sim]") {
    TestWorld world{1, options_for(1, rules_of_fleets())};
    const Watch watch{world};
    world.add_backbone(Profile::with_mbit(100, 100));
    const auto ids = world.add_trainers(9, peer_with(100, 100ms));
    world.run_for(10s);
    world.scale_bandwidth(ids.back(), 0.05);
    require_within(world, 120s, "it is out of rounds",
                   [&] { return world.turn(ids.back()) != TurnKind::kEveryRound; });
    world.scale_bandwidth(ids.back(), 1);
    // It is asked after six rounds of 3.5 s, and loads the state first.
    world.run_for(40s);
    const std::size_t rounds = world.checkers().newest_step().value();
    world.run_for(40s);
    CHECK(world.turn(ids.back()) == TurnKind::kEveryRound);
    const auto history = world.checkers().history();
    REQUIRE(history.size() > rounds + 8);
    for (std::size_t k = rounds; k < history.size(); ++k) {
        const auto& members = history[k].record.members;
        REQUIRE(std::ranges::any_of(members, [&](const CommitLine& line) {
            return line.peer == world.key(ids.back()) && line.samples > Samples{0};
        }));
    }
}

TEST_CASE("a peer that claims a fast link and delays every round is out of most rounds",
          "[averaging][sim]") {
    Profile liar = peer_with(100, 100ms);
    liar.measures_bandwidth = false;
    Fleet fleet = eight_and("", {liar});
    fleet.last_link = 0.05;
    const Counted all = played(fleet, without_choice(rules_of_fleets()), 200s, 80s);
    const Counted chosen = played(fleet, rules_of_fleets(), 200s, 80s);
    CHECK(chosen.samples_per_second > 1.8 * all.samples_per_second);
    // It is asked again, ever more rarely.
    CHECK(chosen.samples.back() < all.samples.back() / 4);
}

TEST_CASE("a peer that never joins makes the others wait once", "[averaging][sim]") {
    const Fleet fleet = eight_and("", {peer_with(100, 36'000s)});
    CHECK(played(fleet, rules_of_fleets(), 60s, 80s).samples_per_second > 66);
}

TEST_CASE("the peers that were left out go on when the others leave", "[averaging][sim]") {
    const Duration micro_batch = GENERATE(Duration{2s}, Duration{100ms});
    const double mbit = micro_batch == Duration{2s} ? 100 : 5;
    TestWorld world{1, options_for(1, rules_of_fleets())};
    const Watch watch{world};
    world.add_backbone(Profile::with_mbit(100, 100));
    const auto fast = world.add_trainers(8, peer_with(100, 100ms));
    const auto slow = world.add_trainers(2, peer_with(mbit, micro_batch));
    world.run_for(60s);
    REQUIRE(world.turn(slow[0]) != TurnKind::kEveryRound);
    for (const TestWorld::Id id : fast) world.suspend(id);
    world.run_for(5s);
    const StepIndex step = world.checkers().newest_step();
    require_within(world, 900s, "three more rounds",
                   [&] { return world.checkers().newest_step().value() >= step.value() + 3; });
}

TEST_CASE("with old samples all replicas equal those of one machine, and each sample counts once",
          "[averaging][property][sim]") {
    std::uint64_t old = 0;
    for (const auto seed : seeds(8)) {
        INFO("replay: " << replay_command(seed));
        RoundRules rules = quick_rules(40);
        rules.codec = drawn_codec(seed);
        rules.overlaps = seed % 2 == 0;
        TestWorld world{seed, options_for(seed, rules)};
        const Watch watch{world};
        world.add_backbone();
        world.add_trainers(4);
        Profile slow = Profile::home();
        slow.micro_batch_time = std::chrono::milliseconds{2'000 + 500 * seed};
        const TestWorld::Id last = world.add_trainer(slow);
        require_all_at(world, StepIndex{20}, 300s);
        if (seed % 4 == 1) {
            world.crash(last);
            world.run_for(3s);
            world.restart(last);
        }
        if (seed % 4 == 2) {
            world.crash(0, Exit::kSilent);  // the coordinator
            world.run_for(10s);
            world.restart(0);
        }
        require_all_at(world, StepIndex{40}, 600s);
        require_clean_history(world, 40);
        require_every_state_equal(world, 40);
        visit_contributions(
            world, [&](const Round& round, const PeerKey& peer, const Frozen& frozen) {
                if (peer != world.key(last)) return;
                for (const Part& part : frozen.parts) {
                    const std::uint64_t age = round.record.step.value() - part.step.value();
                    REQUIRE(age <= wire::kMaxStaleSteps);
                    old += age > 0 ? part.samples : 0;
                }
            });
    }
    CHECK(old > 100);
}

namespace {

void print_table(bool overlaps) {
    std::printf(
        "fleet | all in every round: predicted, played | chosen: predicted, played | "
        "turns\n");
    for (const Fleet& fleet : fleets()) {
        RoundRules rules = rules_of_fleets();
        rules.overlaps = overlaps;
        const auto planned = planning::choose_turns(request_for(fleet, rules));
        REQUIRE(planned);
        const double all = played(fleet, without_choice(rules), 60s, 240s).samples_per_second;
        const Counted chosen = played(fleet, rules, 60s, 240s);
        std::printf("%s | %.1f %.1f | %.1f %.1f |", fleet.name, planned->all.samples_per_second,
                    all, planned->chosen.samples_per_second, chosen.samples_per_second);
        for (const TurnKind turn : chosen.turns) std::printf(" %d", static_cast<int>(turn));
        std::printf("\n");
    }
}

}  // namespace

TEST_CASE("samples per second of fleets with slow peers", "[.table]") {
    print_table(false);
}

TEST_CASE("samples per second of fleets with slow peers, with overlap", "[.table]") {
    print_table(true);
}
