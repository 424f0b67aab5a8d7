// The coordinator's choice of trainers: what it measures, when turns change, what a liar gains.
#include "peer/round/turns.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "tests/peer/wire/samples.hpp"

using namespace dedloc;
using namespace dedloc::round;
using namespace std::chrono_literals;
using tests::test_key;

namespace {

/// Eight trainers and a last one, at 100 Mbit/s. A step takes 3 s of computing and 0.4 s.
struct TurnsBench {
    static constexpr std::uint8_t kLast = 8;

    TurnsBench() {
        rules.elements = 590'000;
        rules.target_batch = Samples{240};
        turns.begin(Term{.number = 1, .coordinator = {}});
        for (std::uint8_t n = 0; n <= kLast; ++n) {
            fleet.push_back(
                {.peer = key(n),
                 .member = {.upload = Bandwidth{12'500'000}, .download = Bandwidth{12'500'000}},
                 .samples_per_second = 10});
        }
    }
    static PeerKey key(std::uint8_t n) {
        return test_key(static_cast<std::uint8_t>(n + 1)).public_key();
    }
    static wire::Heartbeat heartbeat(bool is_frozen, std::uint64_t samples) {
        wire::Heartbeat heartbeat;
        heartbeat.is_frozen = is_frozen;
        heartbeat.samples = Samples{samples};
        return heartbeat;
    }
    TurnKind turn() const { return turns.of(key(kLast)); }
    /// One round: all that are called join, the last one after this wait if it is in every round.
    void play(Duration last_waits) {
        const bool is_last_in = turn() == TurnKind::kEveryRound;
        now += 3s;
        for (std::uint8_t n = 0; n <= kLast; ++n) {
            const bool is_last = n == kLast;
            if (is_last && !is_last_in) continue;
            const Samples samples{is_last ? last_samples : 30};
            CHECK(turns.on_join(key(n), step, now, is_last ? last_waits : 100ms, samples, 3s));
        }
        step = step.next();
        now += 1s;
        turns.on_decision(Samples{is_last_in ? 270u : 240u},
                          4s + (is_last_in ? last_waits + last_costs : without_costs),
                          is_disturbed);
        for (const auto& change : turns.choose(now, step, fleet)) changes.push_back(change);
    }

    /// Rounds until a choice is made.
    void settle(Duration last_waits) {
        for (std::uint32_t k = 0; k <= SpeedTrial::kRounds; ++k) play(last_waits);
    }

    RoundRules rules;
    Turns turns{rules};
    std::vector<FleetMember> fleet;
    std::vector<Turns::Change> changes;
    TimePoint now{};
    StepIndex step{1};
    std::uint64_t last_samples = 30;
    Duration last_costs{};     ///< how much longer a round with the last trainer takes
    Duration without_costs{};  ///< how much longer a round without it takes
    bool is_disturbed = false;
};

}  // namespace

TEST_CASE("a trainer that the others wait for is called when it holds a micro-batch", "[round]") {
    TurnsBench bench;
    bench.fleet.back().samples_per_second = 0.5;
    bench.settle(2s);
    REQUIRE(bench.turn() == TurnKind::kWhenDone);
    REQUIRE(bench.changes.size() == 1);
    CHECK(bench.changes.front().peer == TurnsBench::key(TurnsBench::kLast));
    CHECK(bench.changes.front().message.kind == TurnKind::kWhenDone);
    CHECK(bench.changes.front().message.speed_with < bench.changes.front().message.speed_now);
    const PeerKey last = TurnsBench::key(TurnsBench::kLast);
    CHECK_FALSE(bench.turns.is_called(last, TurnsBench::heartbeat(false, 5), bench.step));
    CHECK_FALSE(bench.turns.is_called(last, TurnsBench::heartbeat(true, 0), bench.step));
    CHECK(bench.turns.is_called(last, TurnsBench::heartbeat(true, 5), bench.step));
    CHECK(bench.turns.message_for(last));
    // A new term: all are in every round again, and told nothing.
    bench.turns.begin(Term{.number = 2, .coordinator = {}});
    CHECK(bench.turn() == TurnKind::kEveryRound);
    CHECK_FALSE(bench.turns.message_for(last));
}

TEST_CASE("turns do not flap, and a trainer is asked again, ever more rarely", "[round]") {
    TurnsBench bench;
    bench.fleet.back().samples_per_second = 0.5;
    std::vector<std::uint64_t> out_at;
    for (int k = 0; k < 400; ++k) {
        const TurnKind before = bench.turn();
        bench.play(2s);
        if (before == TurnKind::kEveryRound && bench.turn() != before) {
            out_at.push_back(bench.step.value());
        }
    }
    REQUIRE(out_at.size() >= 3);
    CHECK(out_at.size() <= 7);
    CHECK(out_at[1] - out_at[0] >= Turns::kAsk);
    CHECK(out_at[2] - out_at[1] >= 2 * Turns::kAsk);
}

TEST_CASE("a trainer comes back when it is as fast as the others", "[round]") {
    TurnsBench bench;
    bench.settle(2s);
    REQUIRE(bench.turn() == TurnKind::kWhenDone);
    for (int k = 0; k < 40; ++k) bench.play(50ms);
    CHECK(bench.turn() == TurnKind::kEveryRound);
}

TEST_CASE("a trainer with a slow link rests, also if it claims to be fast", "[round]") {
    TurnsBench bench;
    bench.fleet.back().member.upload = bench.fleet.back().member.download = Bandwidth{625'000};
    bench.fleet.back().samples_per_second = 1e6;  // it joins with 30 samples like the others
    bench.settle(100ms);
    CHECK(bench.turn() == TurnKind::kRest);
    CHECK_FALSE(bench.turns.is_called(TurnsBench::key(TurnsBench::kLast),
                                      TurnsBench::heartbeat(true, 30), bench.step));
}

TEST_CASE("a trainer that claims a fast link and delays a round rests, until it is asked again",
          "[round]") {
    TurnsBench bench;
    bench.settle(100ms);
    CHECK(bench.turn() == TurnKind::kEveryRound);
    SECTION("by sending") {
        bench.turns.links().on_slow_send(TurnsBench::key(TurnsBench::kLast), 2'360'000, 4s);
    }
    SECTION("by receiving") {
        bench.turns.links().on_slow_receive(TurnsBench::key(TurnsBench::kLast), 2'360'000, 4s);
    }
    bench.play(100ms);
    CHECK(bench.turn() != TurnKind::kEveryRound);
    for (int k = 0; k < 40; ++k) bench.play(100ms);
    CHECK(bench.turn() == TurnKind::kEveryRound);
}

TEST_CASE("when the trainers of every round have gone, the others are in every round", "[round]") {
    TurnsBench bench;
    bench.fleet.back().samples_per_second = 0.5;
    bench.settle(2s);
    REQUIRE(bench.turn() == TurnKind::kWhenDone);
    bench.fleet.erase(bench.fleet.begin(), bench.fleet.end() - 1);
    const auto changes = bench.turns.choose(bench.now, bench.step, bench.fleet);
    REQUIRE(changes.size() == 1);
    CHECK(changes.front().message.kind == TurnKind::kEveryRound);
    CHECK(bench.turn() == TurnKind::kEveryRound);
}

TEST_CASE("a choice that makes the swarm slower is taken back, and made ever more rarely",
          "[round]") {
    TurnsBench bench;
    bench.without_costs = 10s;  // whatever the model says
    std::vector<std::uint64_t> out_at;
    std::uint64_t rounds_without = 0;
    for (int k = 0; k < 400; ++k) {
        const TurnKind before = bench.turn();
        bench.play(2s);
        rounds_without += bench.turn() != TurnKind::kEveryRound ? 1 : 0;
        if (before == TurnKind::kEveryRound && bench.turn() != before) {
            out_at.push_back(bench.step.value());
        }
    }
    REQUIRE(out_at.size() >= 4);
    CHECK(out_at.size() <= 7);
    CHECK(out_at[2] - out_at[1] >= 2 * SpeedTrial::kHesitation);
    CHECK(out_at[3] - out_at[2] >= 4 * SpeedTrial::kHesitation);
    // A trial that goes badly is over after two rounds.
    CHECK(rounds_without <= 3 * out_at.size());
}

TEST_CASE("a choice that brings a little is kept", "[round]") {
    TurnsBench bench;
    bench.fleet.back().member.upload = bench.fleet.back().member.download = Bandwidth{625'000};
    bench.last_costs = 2s;     // 270 samples in 6 s
    bench.without_costs = 1s;  // 240 samples in 5 s
    bench.settle(0s);
    REQUIRE(bench.turn() == TurnKind::kRest);
    for (std::uint32_t k = 0; k <= SpeedTrial::kRounds; ++k) bench.play(0s);
    CHECK(bench.changes.size() == 1);
}

TEST_CASE("what is measured while links fail changes no turn", "[round]") {
    TurnsBench bench;
    bench.is_disturbed = true;
    for (int k = 0; k < 100; ++k) bench.play(2s);
    CHECK(bench.changes.empty());
    // A wait of that time is forgotten.
    bench.is_disturbed = false;
    for (int k = 0; k < 100; ++k) bench.play(100ms);
    CHECK(bench.changes.empty());
}

TEST_CASE("a choice is taken back when links fail during its trial", "[round]") {
    TurnsBench bench;
    bench.settle(2s);
    REQUIRE(bench.turn() == TurnKind::kWhenDone);
    bench.is_disturbed = true;
    for (std::uint32_t k = 0; k < SpeedTrial::kDisturbed; ++k) bench.play(2s);
    CHECK(bench.turn() == TurnKind::kEveryRound);
}

TEST_CASE("a trainer whose trouble has ended is in every round a few rounds later", "[round]") {
    TurnsBench bench;
    bench.settle(100ms);
    bench.turns.links().on_slow_send(TurnsBench::key(TurnsBench::kLast), 2'360'000, 4s);
    bench.play(100ms);
    REQUIRE(bench.turn() == TurnKind::kRest);
    std::uint64_t rounds = 0;
    while (bench.turn() != TurnKind::kEveryRound) {
        bench.play(100ms);
        REQUIRE(++rounds <= Turns::kAsk);
    }
    for (int k = 0; k < 20; ++k) bench.play(100ms);
    CHECK(bench.turn() == TurnKind::kEveryRound);
}

TEST_CASE("two trainers are in every round", "[round]") {
    TurnsBench bench;
    bench.fleet.erase(bench.fleet.begin(), bench.fleet.begin() + 7);
    for (int k = 0; k < 20; ++k) bench.play(2s);
    CHECK(bench.changes.empty());
    SECTION("when others have gone, too") {
        TurnsBench larger;
        larger.settle(100ms);
        larger.fleet.back().member.upload = Bandwidth{625'000};
        larger.play(100ms);
        REQUIRE(larger.turn() == TurnKind::kRest);
        larger.fleet.erase(larger.fleet.begin(), larger.fleet.begin() + 7);
        larger.play(100ms);
        CHECK(larger.turn() == TurnKind::kEveryRound);
    }
}

TEST_CASE("a reducer that is slow to some members keeps one of them out of rounds", "[round]") {
    TurnsBench bench;
    bench.settle(100ms);
    std::size_t max = 0;
    for (int k = 0; k < 60; ++k) {
        const auto victim = static_cast<std::uint8_t>(k % 8);
        bench.turns.links().on_slow_receive(TurnsBench::key(victim), 2'360'000, 4s);
        bench.turns.links().on_slow_send(TurnsBench::key(victim), 2'360'000, 4s);
        bench.play(100ms);
        std::size_t out = 0;
        for (const FleetMember& one : bench.fleet) {
            out += bench.turns.of(one.peer) != TurnKind::kEveryRound ? 1 : 0;
        }
        max = std::max(max, out);
    }
    CHECK(max == 1);
}

TEST_CASE("small differences change nothing", "[round]") {
    TurnsBench bench;
    bench.fleet.back().member.upload = Bandwidth{10'000'000};
    for (int k = 0; k < 100; ++k) bench.play(150ms);
    CHECK(bench.changes.empty());
}

TEST_CASE("a Call waits as long as the trainer's own micro-batches need, and not longer",
          "[round]") {
    TurnsBench bench;
    const PeerKey peer = TurnsBench::key(0);
    // Not measured: as long as it can have computed its first one, from two failure timeouts on.
    CHECK(bench.turns.join_limit(peer, 1s) == 10s);
    CHECK(bench.turns.join_limit(peer, 40s) == 40s);
    CHECK(bench.turns.join_limit(peer, 400s) == bench.rules.join_timeout);
    CHECK(bench.turns.on_join(peer, bench.step, bench.now, 20s, Samples{5}, 40s));
    bench.turns.on_decision(Samples{5}, 60s, false);
    CHECK(bench.turns.join_limit(peer, 1s) == 40s);
    CHECK(bench.turns.on_join(TurnsBench::key(1), bench.step, bench.now, 100ms, Samples{5}, 40s));
    bench.turns.on_decision(Samples{5}, 60s, false);
    CHECK(bench.turns.join_limit(TurnsBench::key(1), 400s) == 10s);
}

TEST_CASE("a trainer that never joins makes the others wait once", "[round]") {
    TurnsBench bench;
    const PeerKey liar = TurnsBench::key(TurnsBench::kLast);
    CHECK(bench.turns.on_no_join(liar, bench.step, bench.now, 60s));
    CHECK(bench.turn() == TurnKind::kWhenDone);
    CHECK_FALSE(bench.turns.is_called(liar, TurnsBench::heartbeat(false, 50), bench.step));
    // It claims to hold a contribution, is called and does not join: it has ignored the Call.
    CHECK(bench.turns.is_called(liar, TurnsBench::heartbeat(true, 50), bench.step));
    CHECK(bench.turns.join_limit(liar, 400s) == 750ms);
    CHECK_FALSE(bench.turns.on_no_join(liar, bench.step, bench.now, 750ms));
}

TEST_CASE(
    "the fast one of two trainers is asked again after as long as so many rounds took with it",
    "[round]") {
    TurnsBench bench;
    bench.fleet.erase(bench.fleet.begin() + 1, bench.fleet.begin() + TurnsBench::kLast);
    bool is_measured = true;
    SECTION("rounds of 4 s") {
        bench.settle(100ms);
    }
    SECTION("no round was measured: as long as so many Calls") {
        is_measured = false;
    }
    const TimePoint since = bench.now;
    REQUIRE(bench.turns.on_no_join(TurnsBench::key(TurnsBench::kLast), bench.step, bench.now, 10s));
    std::uint64_t rounds = 0;
    for (; bench.turn() == TurnKind::kWhenDone && rounds < Turns::kAsk; ++rounds) {
        bench.now += 20s;  // six times as long as with it
        bench.play(100ms);
    }
    CHECK(bench.turn() == TurnKind::kEveryRound);
    CHECK(bench.now - since <= (is_measured ? 4s : 10s) * Turns::kAsk + 24s);
}

TEST_CASE("without the choice every trainer is in every round", "[round]") {
    TurnsBench bench;
    bench.rules.chooses_trainers = false;
    for (int k = 0; k < 10; ++k) bench.play(20s);
    CHECK(bench.changes.empty());
    CHECK_FALSE(bench.turns.on_no_join(TurnsBench::key(0), bench.step, bench.now, 60s));
}

TEST_CASE("a trainer that brings no samples is called when it holds some", "[round]") {
    TurnsBench bench;
    const PeerKey idle = TurnsBench::key(TurnsBench::kLast);
    bench.last_samples = 0;
    for (std::uint32_t k = 1; k < Turns::kMaxIdle; ++k) bench.play(100ms);
    CHECK(bench.turn() == TurnKind::kEveryRound);
    SECTION("one round with samples is enough") {
        bench.last_samples = 1;
        bench.play(100ms);
        bench.last_samples = 0;
        for (std::uint32_t k = 1; k < Turns::kMaxIdle; ++k) bench.play(100ms);
        CHECK(bench.turn() == TurnKind::kEveryRound);
    }
    SECTION("joins of one step count once") {
        for (std::uint32_t k = 0; k < 10; ++k) {
            CHECK(bench.turns.on_join(idle, StepIndex{2}, bench.now, 100ms, Samples{0}, 3s));
        }
        CHECK(bench.turns.choose(bench.now, bench.step, bench.fleet).empty());
    }
    SECTION("an aggregator has none") {
        bench.fleet.back().member.contributes = false;
        for (int k = 0; k < 100; ++k) bench.play(100ms);
        CHECK(bench.turn() == TurnKind::kEveryRound);
    }
    SECTION("the coordinator sits in its own rounds") {
        bench.turns.begin(Term{.number = 2, .coordinator = idle});
        for (int k = 0; k < 100; ++k) bench.play(100ms);
        CHECK(bench.turn() == TurnKind::kEveryRound);
    }
    SECTION("the last one in a row") {
        bench.play(100ms);
        REQUIRE(bench.turn() == TurnKind::kWhenDone);
        CHECK(bench.changes.back().why.find("3 rounds in a row without samples") !=
              std::string::npos);
        CHECK_FALSE(bench.turns.is_called(idle, TurnsBench::heartbeat(true, 0), bench.step));
        // It is not asked to come back, however long that takes.
        for (int k = 0; k < 200; ++k) bench.play(100ms);
        CHECK(bench.turn() == TurnKind::kWhenDone);
        SECTION("and one that brings them is in every round soon") {
            for (std::uint32_t k = 0; k <= 2 * Turns::kAsk; ++k) {
                REQUIRE(bench.turns.is_called(idle, TurnsBench::heartbeat(true, 30), bench.step));
                if (bench.turn() != TurnKind::kEveryRound) {
                    CHECK(bench.turns.on_join(idle, bench.step, bench.now, 100ms, Samples{30}, 3s));
                }
                bench.last_samples = 30;
                bench.play(100ms);
            }
            CHECK(bench.turn() == TurnKind::kEveryRound);
        }
        SECTION("and one that only says that it holds some has lied three times then") {
            std::uint32_t believed = 0;
            while (bench.turns.on_join(idle, bench.step, bench.now, 100ms, Samples{0}, 3s)) {
                REQUIRE(++believed < 10);
                bench.play(100ms);
            }
            CHECK(believed + 1 == Turns::kMaxIdle);
        }
    }
}

TEST_CASE("a trainer that only reduces is not idle", "[round]") {
    TurnsBench bench;
    const PeerKey reducer = TurnsBench::key(TurnsBench::kLast);
    CHECK(bench.turns.on_no_join(reducer, bench.step, bench.now, 60s));
    // Its micro-batches take longer than samples count.
    for (int k = 0; k < 30 && bench.turn() != TurnKind::kReduceOnly; ++k) bench.play(100ms);
    REQUIRE(bench.turn() == TurnKind::kReduceOnly);
    for (std::uint32_t k = 0; k < Turns::kAsk; ++k) {
        CHECK(bench.turns.on_join(reducer, bench.step, bench.now, 100ms, Samples{0}, 3s));
        bench.play(100ms);
    }
    // It is given another micro-batch.
    for (int k = 0; k < 200 && bench.turn() == TurnKind::kReduceOnly; ++k) bench.play(100ms);
    CHECK(bench.turn() != TurnKind::kReduceOnly);
}
