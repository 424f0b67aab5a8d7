// A trainer that is not in every round, driven by hand-made messages and events: which samples
// count, in which round, and which never.
#include <catch2/catch.hpp>

#include "peer/wire/limits.hpp"
#include "tests/peer/round/trainer_bench.hpp"

using namespace dedloc;
using namespace dedloc::round;

namespace {

using Phase = Member::Phase;

struct AttendingBench : TrainerBench {
    explicit AttendingBench(TurnKind kind, std::uint32_t every = 1) : TrainerBench(false) {
        assign(kind, every);
    }
    void assign(TurnKind kind, std::uint32_t every = 1) {
        member.on_turn({.term = term, .kind = kind, .every = every}, out);
    }
    /// A round is decided without the member.
    void miss() { decide(plan(std::nullopt)); }
    /// It gets the average of the round of this step, and applies it.
    void follow(std::uint64_t step) {
        REQUIRE(member.phase() == Phase::kIdle);
        fetch_average(step);
        reach(step + 1);
    }
};

}  // namespace

TEST_CASE("a trainer that is called when done stops after a micro-batch and holds it",
          "[averaging]") {
    AttendingBench bench{TurnKind::kWhenDone};
    const auto limits = bench.acted<action::Overlap>();
    REQUIRE(limits.size() == 1);
    CHECK(limits[0].max == Samples{1});
    bench.progress(8);
    REQUIRE(bench.acted<action::Freeze>().size() == 1);
    bench.hand_over(8);
    CHECK(bench.member.phase() == Phase::kFrozen);
    CHECK(bench.member.is_in_round());
    CHECK_FALSE(bench.joined());
    bench.call();
    CHECK(bench.joined()->samples == Samples{8});
}

TEST_CASE("a micro-batch that takes several rounds counts once, in the round after it",
          "[averaging]") {
    AttendingBench bench{TurnKind::kWhenDone};
    bench.acted<action::Freeze>();
    bench.miss();  // the trainer still computes
    CHECK(bench.acted<action::Freeze>().size() == 1);
    CHECK(bench.member.is_handing_over());
    bench.miss();
    CHECK(bench.acted<action::Freeze>().empty());
    bench.hand_over(8);
    CHECK_FALSE(bench.member.is_handing_over());
    CHECK(bench.acted<action::Pause>().empty());
    bench.follow(0);
    bench.follow(1);
    CHECK(bench.member.phase() == Phase::kFrozen);
    CHECK(bench.member.samples() == Samples{8});
    // One more round is decided before it is called.
    bench.miss();
    bench.follow(2);
    bench.call();
    const auto join = bench.joined();
    REQUIRE(join);
    CHECK(join->samples == Samples{8});
    bench.decide(bench.plan(join));
    bench.reach(4);
    CHECK(bench.member.phase() == Phase::kWorking);
    CHECK(bench.member.samples() == Samples{0});
    bench.call();
    bench.hand_over(0);
    CHECK(bench.joined()->samples == Samples{0});
}

TEST_CASE("samples that are too old are dropped, with a word", "[averaging]") {
    AttendingBench bench{TurnKind::kWhenDone};
    for (std::uint32_t k = 0; k <= wire::kMaxStaleSteps; ++k) bench.miss();
    bench.hand_over(8);
    bench.acted<action::Note>();
    for (std::uint32_t k = 0; k <= wire::kMaxStaleSteps; ++k) bench.follow(k);
    const auto notes = bench.acted<action::Note>();
    REQUIRE(notes.size() == 1);
    CHECK(notes[0].line == "8 samples are more than 4 steps old: they do not count");
    CHECK(bench.member.phase() == Phase::kWorking);
}

TEST_CASE("a held contribution outlives a state that is loaded, unless it may have been counted",
          "[averaging]") {
    const bool is_offered = GENERATE(false, true);
    AttendingBench bench{TurnKind::kWhenDone};
    bench.progress(8);
    bench.hand_over(8);
    if (is_offered) bench.call();
    // The head moves by a certificate: the records in between are never seen here.
    if (!is_offered) bench.miss();
    bench.voter.append(record_of(bench.plan(std::nullopt), {}, {}, bench.voter.head()));
    bench.reach(bench.voter.head().step.value());
    CHECK((bench.member.phase() == Phase::kFrozen) == !is_offered);
}

TEST_CASE("a trainer in some rounds keeps its sum over the others", "[averaging]") {
    AttendingBench bench{TurnKind::kSomeRounds, 3};
    bench.progress(8);
    bench.miss();
    bench.follow(0);
    CHECK(bench.member.samples() == Samples{8});
    bench.progress(16);
    bench.miss();
    bench.progress(24);  // the micro-batch that was being computed
    bench.follow(1);
    CHECK(bench.member.samples() == Samples{24});
    CHECK(bench.acted<action::Pause>().empty());
    bench.call();
    bench.hand_over(24);
    CHECK(bench.joined()->samples == Samples{24});
}

TEST_CASE("a trainer that only reduces joins without samples, and one that rests does nothing",
          "[averaging]") {
    AttendingBench bench{TurnKind::kReduceOnly};
    bench.progress(8);  // the micro-batch that was being computed counts
    bench.call();
    bench.hand_over(8);
    const auto join = bench.joined();
    CHECK(join->samples == Samples{8});
    bench.decide(bench.plan(join));
    bench.acted<action::Work>();
    bench.reach(1);
    CHECK(bench.acted<action::Work>().empty());
    bench.assign(TurnKind::kEveryRound);
    CHECK(bench.acted<action::Work>().size() == 1);
    bench.progress(8);
    bench.acted<action::Pause>();
    bench.assign(TurnKind::kRest);
    CHECK(bench.acted<action::Pause>().size() == 1);
    CHECK(bench.member.is_resting());
    CHECK(bench.member.samples() == Samples{0});
}

TEST_CASE("an assignment says why, once, and ends with its term", "[averaging]") {
    AttendingBench bench{TurnKind::kEveryRound};
    bench.acted<action::TurnChanged>();
    const wire::TurnChange rest{
        .term = bench.term, .kind = TurnKind::kRest, .speed_with = 25.71, .speed_now = 70.8};
    bench.member.on_turn(rest, bench.out);
    bench.member.on_turn(rest, bench.out);
    const auto changes = bench.acted<action::TurnChanged>();
    REQUIRE(changes.size() == 1);
    CHECK(changes[0].why ==
          "this computer rests and is asked again later, because with it in every round the swarm "
          "computes 25.7 samples/s instead of 70.8");
    bench.member.follow_term({.number = 2, .coordinator = bench.backbone}, bench.out);
    CHECK_FALSE(bench.member.is_resting());
    CHECK(bench.acted<action::TurnChanged>().size() == 1);
}
