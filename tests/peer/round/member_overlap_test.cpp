// Member of a run with overlap, driven by hand-made messages and events: which samples are in which
// contribution, and which are dropped.
#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <variant>
#include <vector>

#include "tests/peer/round/trainer_bench.hpp"

using namespace dedloc;
using namespace dedloc::round;

namespace {

using Phase = Member::Phase;

struct MemberOverlapBench : TrainerBench {
    MemberOverlapBench() : TrainerBench(true) {}
};

}  // namespace

TEST_CASE("with overlap the trainer goes on once its contribution is frozen", "[averaging]") {
    MemberOverlapBench bench;
    CHECK(bench.acted<action::Work>().size() == 1);
    bench.call();
    REQUIRE(bench.acted<action::Freeze>().size() == 1);
    CHECK(bench.acted<action::Overlap>().empty());
    bench.hand_over(20);
    const auto overlaps = bench.acted<action::Overlap>();
    REQUIRE(overlaps.size() == 1);
    CHECK(overlaps[0].step == StepIndex{0});
    CHECK(overlaps[0].max == bench.config.rules.target_batch);

    // The heartbeat tells the frozen samples until the next state is reached.
    bench.progress(8);
    CHECK(bench.member.samples() == Samples{20});
    const auto join = bench.joined();
    REQUIRE(join);
    bench.decide(bench.plan(join));
    REQUIRE(bench.acted<action::Apply>().size() == 1);
    bench.progress(12);  // the micro-batch that the update waits for
    bench.reach(1);
    CHECK(bench.acted<action::Pause>().empty());
    REQUIRE(bench.acted<action::Work>().size() == 1);
    CHECK(bench.member.phase() == Phase::kWorking);
    CHECK(bench.member.samples() == Samples{12});
    bench.progress(16);
    CHECK(bench.member.samples() == Samples{16});
    bench.call();
    bench.hand_over(16);
    CHECK(bench.joined()->samples == Samples{16});
}

TEST_CASE("with overlap a trainer without a coordinator holds its contribution and stops",
          "[averaging]") {
    MemberOverlapBench bench;
    bench.member.hold(bench.out);
    bench.hand_over(20);
    CHECK(bench.acted<action::Overlap>().empty());
    bench.call();
    CHECK(bench.joined()->samples == Samples{20});
    CHECK(bench.acted<action::Overlap>().size() == 1);
    bench.call();  // another coordinator's
    CHECK(bench.acted<action::Overlap>().empty());
}

TEST_CASE("with overlap a cancelled round leaves both sums as they are", "[averaging]") {
    MemberOverlapBench bench;
    bench.call();
    SECTION("while the trainer finishes its micro-batch") {
        bench.cancel();
        bench.hand_over(20);
        CHECK(bench.acted<action::Overlap>().empty());
        bench.call();
        CHECK(bench.joined()->samples == Samples{20});
        CHECK(bench.acted<action::Overlap>().size() == 1);
    }
    SECTION("once the first is frozen") {
        bench.hand_over(20);
        const auto join = bench.joined();
        bench.progress(8);
        bench.cancel();
        CHECK(bench.member.samples() == Samples{20});
        CHECK(bench.acted<action::Overlap>().size() == 1);
        bench.call();
        const auto again = bench.joined();
        REQUIRE(again);
        CHECK(again->samples == join->samples);
        CHECK(again->contribution_id == join->contribution_id);
        CHECK(bench.acted<action::Freeze>().size() == 1);
        bench.decide(bench.plan(again));
        bench.reach(1);
        CHECK(bench.member.samples() == Samples{8});
    }
    SECTION("and without samples the sum of the next round counts for this one") {
        bench.hand_over(0);
        bench.progress(8);
        bench.cancel();
        CHECK(bench.member.phase() == Phase::kWorking);
        CHECK(bench.member.samples() == Samples{8});
        bench.call();
        bench.hand_over(8);
        CHECK(bench.joined()->samples == Samples{8});
    }
}

TEST_CASE("with overlap a sum outlives one round that was missed", "[averaging]") {
    MemberOverlapBench bench;
    SECTION("of a trainer that was not called") {
        bench.progress(8);
        bench.decide(bench.plan(std::nullopt));
        CHECK(bench.member.phase() == Phase::kIdle);
        CHECK(bench.acted<action::Pause>().empty());
        // It finishes its micro-batch while the average is fetched.
        const auto overlaps = bench.acted<action::Overlap>();
        REQUIRE(overlaps.size() == 1);
        CHECK(overlaps[0].max == Samples{0});
        bench.progress(12);
        bench.fetch_average(0);
        bench.reach(1);
        CHECK(bench.member.samples() == Samples{12});
        CHECK(bench.acted<action::Pause>().empty());
    }
    SECTION("of a trainer whose contribution was left out, which is dropped") {
        bench.call();
        bench.hand_over(20);
        bench.progress(8);
        bench.decide(bench.plan(std::nullopt));
        CHECK(bench.acted<action::Pause>().empty());
        bench.fetch_average(0);
        bench.reach(1);
        CHECK(bench.member.samples() == Samples{8});
    }
    SECTION("but not a second one") {
        bench.progress(8);
        bench.decide(bench.plan(std::nullopt));
        bench.decide(bench.plan(std::nullopt));
        CHECK(bench.acted<action::Pause>().size() == 1);
    }
    SECTION("and not one that began a step before") {
        bench.pass_round(20);
        bench.progress(8);
        bench.reach(1);
        (void)bench.acted<action::Pause>();
        bench.decide(bench.plan(std::nullopt));
        CHECK(bench.acted<action::Pause>().size() >= 1);
        CHECK(bench.member.phase() == Phase::kIdle);
    }
}

TEST_CASE("with overlap a sum is dropped with the state that is replaced", "[averaging]") {
    MemberOverlapBench bench;
    SECTION("by one that is loaded") {
        bench.progress(8);
        bench.decide(bench.plan(std::nullopt));
        bench.reach(1);  // not after action::Apply
        CHECK(bench.member.samples() == Samples{0});
        bench.progress(4);
        CHECK(bench.member.samples() == Samples{4});
    }
    SECTION("as damaged") {
        bench.call();
        bench.hand_over(20);
        bench.member.give_up(bench.out);
        CHECK(bench.acted<action::Pause>().size() == 1);
    }
    SECTION("by a suspension during an update") {
        bench.pass_round(20);
        bench.member.give_up(bench.out);
        CHECK(bench.acted<action::Pause>().size() == 1);
        bench.reach(1);
        CHECK(bench.member.samples() == Samples{0});
    }
    SECTION("as the samples of a former process count") {
        // It has joined with samples that this process computes again.
        bench.progress(8);
        wire::Join former;
        former.contribution_id = 77;
        former.samples = Samples{20};
        bench.decide(bench.plan(former));
        CHECK(bench.acted<action::Pause>().size() >= 1);
    }
}

TEST_CASE("with overlap nothing is computed for a round that will not come", "[averaging]") {
    MemberOverlapBench bench;
    for (std::uint64_t step = 0; step + 2 < 100; ++step) {
        bench.pass_round(1);
        bench.reach(step + 1);
    }
    CHECK(bench.acted<action::Overlap>().size() == 98);
    bench.pass_round(1);  // the round of step 98
    CHECK(bench.acted<action::Overlap>().size() == 1);
    bench.reach(99);
    bench.pass_round(1);
    CHECK(bench.acted<action::Overlap>().empty());
}
