// Member, driven by hand-made messages and events.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <chrono>
#include <limits>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "peer/wire/limits.hpp"
#include "peer/wire/loss_bound.hpp"
#include "tests/peer/round/member_bench.hpp"

using namespace dedloc;
using namespace dedloc::round;
using namespace std::chrono_literals;

TEST_CASE("a member keeps its former average when a later coordinator averages again",
          "[averaging]") {
    // The first plan's record may have one vote already; then it must be proposed again.
    MemberBench bench;
    const wire::Plan first = bench.plan(1, false);
    bench.follow(first);
    const auto first_average = bench.ready();
    REQUIRE(first_average);

    const wire::Plan second = bench.plan(2, true);
    bench.follow(second);
    REQUIRE_FALSE(bench.ready());
    bench.receive_from_other();
    const auto second_average = bench.ready();
    REQUIRE(second_average);
    REQUIRE(*second_average != *first_average);

    SECTION("the first average is decided") {
        const auto applied = bench.decide(first, *first_average);
        REQUIRE(applied);
        REQUIRE(*applied == FloatVector(kElements, 3.0F));
    }
    SECTION("the second average is decided") {
        const auto applied = bench.decide(second, *second_average);
        REQUIRE(applied);
        REQUIRE(*applied == FloatVector(kElements, 5.0F));
    }
    SECTION("an average that the member never had is decided") {
        REQUIRE(bench.decide(first, Digest{{std::byte{1}}}) == nullptr);
        REQUIRE(bench.acted<action::Pause>() == 1);
        REQUIRE(bench.member.phase() == Member::Phase::kIdle);
        REQUIRE(bench.voter.may_vote());
    }
}

TEST_CASE("a member does not follow a plan that is wrong about whether it receives",
          "[averaging]") {
    MemberBench bench;
    wire::Plan plan = bench.plan(1, false);
    plan.members.front().receives = false;
    bench.follow(plan);
    REQUIRE_FALSE(bench.ready());
    bench.follow(bench.plan(2, false));
    REQUIRE(bench.ready());
}

TEST_CASE("only a contribution that was averaged changes the residual", "[averaging]") {
    // The norm is 0.4, so the scale is 2⁻¹⁶; near 0.1 the halves are 4 units apart.
    constexpr float kNumber = 0.1F;
    constexpr float kSent = 6'552 * 0x1p-16F;
    MemberBench bench{Codec::kFp16, kNumber};
    REQUIRE(bench.member.residual() == nullptr);
    const wire::Plan first = bench.plan(1, false);
    bench.follow(first);
    const auto applied = bench.decide(first, bench.ready().value());
    REQUIRE(applied);
    REQUIRE(*applied == FloatVector(kElements, kSent / 2));
    const FloatVector owed(kElements, kNumber - kSent);
    REQUIRE(*bench.member.residual() == owed);

    bench.begin(kNumber);
    const wire::Plan plan = bench.plan(1, false);
    bench.follow(plan);
    const Digest average = bench.ready().value();
    SECTION("averaged") {
        REQUIRE(bench.decide(plan, average));
        // 0.1 and the residual round to the next larger half.
        const float rest = kNumber + owed.front() - 6'556 * 0x1p-16F;
        REQUIRE(*bench.member.residual() == FloatVector(kElements, rest));
    }
    SECTION("cancelled, and averaged by the next attempt") {
        bench.member.on_cancel(bench.step(), bench.out);
        REQUIRE(*bench.member.residual() == owed);
        wire::Plan again = bench.plan(1, false);
        again.attempt = 2;
        bench.follow(again);
        REQUIRE(bench.decide(again, bench.ready().value()));
        const float rest = kNumber + owed.front() - 6'556 * 0x1p-16F;
        REQUIRE(*bench.member.residual() == FloatVector(kElements, rest));
    }
    SECTION("decided without us") {
        wire::Plan others = bench.plan(1, true);
        std::erase_if(others.members, [&](const auto& m) { return m.peer != bench.other; });
        others.ranges.front().member = PeerIndex{0};
        bench.decide(others, average);
        REQUIRE(*bench.member.residual() == owed);
    }
    SECTION("decided with a contribution that was cancelled before") {
        wire::Plan earlier = plan;
        earlier.members.front().loss_sum = 9;
        bench.decide(earlier, average);
        REQUIRE(bench.member.residual() == nullptr);
    }
    SECTION("left before a decision") {
        bench.member.give_up(bench.out);
        REQUIRE(bench.member.residual() == nullptr);
    }
}

namespace {

Contribution nothing() {
    return {.samples = Samples{0}, .loss_sum = 0, .is_finite = true, .sum = nullptr};
}

}  // namespace

TEST_CASE("the loss sum of a diverged model is cut to what others accept", "[averaging]") {
    for (const double loss_sum : {1e30, std::numeric_limits<double>::infinity(),
                                  std::numeric_limits<double>::quiet_NaN()}) {
        MemberBench bench;
        bench.decide(bench.plan(1, false), {});
        bench.member.on_state({.step = bench.step(), .digest = {}}, bench.out);
        bench.out = {};
        bench.member.on_call(bench.step(), {.term = bench.term(1)}, bench.out);
        Contribution contribution{.samples = Samples{2},
                                  .loss_sum = loss_sum,
                                  .is_finite = true,
                                  .sum = std::make_shared<FloatVector>(kElements, 6.0F)};
        bench.member.on_frozen({.step = bench.step(), .contribution = contribution}, bench.out);
        const auto joins = bench.said<wire::Join>();
        REQUIRE(joins.size() == 1);
        CHECK(joins[0].loss_sum == 2 * wire::kMaxMeanLoss);
    }
}

TEST_CASE("a cancelled round leaves the contribution to the next call", "[averaging]") {
    MemberBench bench;
    bench.decide(bench.plan(1, false), {});
    bench.member.on_state({.step = bench.step(), .digest = {}}, bench.out);
    bench.out = {};
    bench.member.on_call(bench.step(), {.term = bench.term(1)}, bench.out);
    const auto freeze_with = [&](const Contribution& contribution) {
        bench.member.on_frozen({.step = bench.step(), .contribution = contribution}, bench.out);
    };
    const auto sum = std::make_shared<FloatVector>(kElements, 6.0F);
    const Contribution some{.samples = Samples{2}, .loss_sum = 1, .is_finite = true, .sum = sum};
    SECTION("while the trainer finishes its micro-batch") {
        bench.member.on_cancel(bench.step(), bench.out);
        freeze_with(some);
        CHECK(bench.said<wire::Join>().empty());
        bench.member.on_call(bench.step(), {.term = bench.term(1)}, bench.out);
        REQUIRE(bench.said<wire::Join>().size() == 1);
        CHECK(bench.acted<action::Freeze>() == 1);
    }
    SECTION("once it is frozen") {
        freeze_with(some);
        const auto before = bench.said<wire::Join>();
        bench.member.on_cancel(bench.step(), bench.out);
        CHECK(bench.member.phase() == Member::Phase::kFrozen);
        CHECK(bench.member.samples() == Samples{2});
        CHECK(bench.member.plan() == nullptr);
        bench.member.on_call(bench.step(), {.term = bench.term(2)}, bench.out);
        const auto after = bench.said<wire::Join>();
        REQUIRE(before.size() == 1);
        REQUIRE(after.size() == 1);
        CHECK(after[0].contribution_id == before[0].contribution_id);
        CHECK(after[0].samples == before[0].samples);
        CHECK(bench.acted<action::Freeze>() == 1);
        CHECK(bench.acted<action::Pause>() == 0);
    }
    SECTION("and a member without samples works on") {
        freeze_with(nothing());
        bench.member.on_cancel(bench.step(), bench.out);
        CHECK(bench.member.phase() == Member::Phase::kWorking);
        bench.member.on_call(bench.step(), {.term = bench.term(1)}, bench.out);
        CHECK(bench.acted<action::Freeze>() == 2);
    }
}

TEST_CASE("without a coordinator a member holds its contribution for the first call",
          "[averaging]") {
    MemberBench bench;
    bench.decide(bench.plan(1, false), {});
    bench.member.on_state({.step = bench.step(), .digest = {}}, bench.out);
    REQUIRE(bench.member.phase() == Member::Phase::kWorking);
    bench.out = {};
    bench.member.hold(bench.out);
    bench.member.hold(bench.out);
    CHECK(bench.acted<action::Freeze>() == 1);
    const auto sum = std::make_shared<FloatVector>(kElements, 6.0F);
    bench.member.on_frozen(
        {.step = bench.step(), .contribution = {.samples = Samples{2}, .loss_sum = 1, .sum = sum}},
        bench.out);
    CHECK(bench.out.messages.empty());  // there is no coordinator to join
    CHECK(bench.member.is_in_round());
    CHECK(bench.member.samples() == Samples{2});
    bench.member.on_call(bench.step(), {.term = bench.term(4)}, bench.out);
    const auto joins = bench.said<wire::Join>();
    REQUIRE(joins.size() == 1);
    CHECK(joins[0].samples == Samples{2});
    CHECK(joins[0].term == bench.term(4));
    CHECK(bench.acted<action::Freeze>() == 1);
    CHECK(bench.acted<action::Pause>() == 0);
}

TEST_CASE("a call that arrives during a hold is answered once the contribution is frozen",
          "[averaging]") {
    MemberBench bench;
    bench.decide(bench.plan(1, false), {});
    bench.member.on_state({.step = bench.step(), .digest = {}}, bench.out);
    bench.out = {};
    bench.member.hold(bench.out);
    bench.member.on_call(bench.step(), {.term = bench.term(4)}, bench.out);
    CHECK(bench.out.messages.empty());
    bench.member.on_frozen({.step = bench.step(), .contribution = nothing()}, bench.out);
    REQUIRE(bench.said<wire::Join>().size() == 1);
    CHECK(bench.acted<action::Freeze>() == 1);
}

TEST_CASE("a join carries the exponent of its contribution", "[averaging]") {
    CHECK(MemberBench{}.exponent() == 0);
    CHECK(MemberBench{Codec::kBf16}.exponent() == 0);
    CHECK(MemberBench{Codec::kInt8, 127.0F}.exponent() == 127);
    MemberBench bench{Codec::kFp16};
    CHECK(bench.exponent() != 0);
    bench.decide(bench.plan(1, false), {});
    bench.member.on_state({.step = bench.step(), .digest = {}}, bench.out);
    bench.member.on_call(bench.step(), {.term = bench.term(1)}, bench.out);
    bench.member.on_frozen({.step = bench.step(), .contribution = nothing()}, bench.out);
    CHECK(bench.exponent() == 0);  // an empty contribution
}

TEST_CASE("a plan that cuts int8 blocks is ignored", "[averaging]") {
    MemberBench bench{Codec::kInt8};
    wire::Plan plan = bench.plan(1, false);
    REQUIRE(plan.chunk_elements % wire::kInt8BlockElements != 0);
    bench.follow(plan);
    CHECK_FALSE(bench.ready());
    plan.chunk_elements = wire::kInt8BlockElements;
    bench.follow(plan);
    CHECK(bench.ready());
}

TEST_CASE("a sender of pieces that cannot be averaged is reported once in each attempt",
          "[averaging]") {
    MemberBench bench;
    wire::Plan plan = bench.plan(1, true);
    bench.follow(plan);
    bench.out.messages.clear();
    const auto index = wire::index_of(plan, bench.other);
    bench.receive_from_other(std::numeric_limits<float>::quiet_NaN());
    const auto stalled = bench.said<wire::Stalled>();
    REQUIRE(stalled.size() == 1);
    CHECK(stalled[0].term == plan.term);
    CHECK(stalled[0].attempt == plan.attempt);
    CHECK(stalled[0].refused == std::vector{index});
    CHECK(stalled[0].senders.empty());
    bench.receive_from_other();
    CHECK(bench.out.messages.empty());
    // The next attempt still has the sender: it is reported again.
    ++plan.attempt;
    bench.follow(plan);
    REQUIRE(bench.said<wire::Stalled>().size() == 1);
    bench.follow(bench.plan(2, false));
    bench.member.check_invariants();
    CHECK(bench.ready());
}

TEST_CASE("chunks that are of no use do not put off a complaint", "[averaging]") {
    MemberBench bench;
    const wire::Plan plan = bench.plan(1, true);
    bench.follow(plan);
    bench.out.messages.clear();
    TimePoint now{};
    while (bench.said<wire::Stalled>().empty()) {
        now += 1s;
        bench.member.on_chunk(now, bench.other, bench.step(),
                              {.kind = wire::ChunkKind::kScatter,
                               .sum_id = 1,
                               .chunk = 0,
                               .chunk_elements = kElements,
                               .elements = FloatVector(kElements, 1.0F)},
                              bench.out);
        bench.member.advance(now, bench.out);
        REQUIRE(now <= TimePoint{} + 4 * bench.config.rules.stall_timeout);
    }
    CHECK(bench.member.missing().senders == std::set{bench.other});
    CHECK(bench.member.missing().reducers.empty());
}

TEST_CASE("a member that an amendment has left out complains of the plan that it follows",
          "[averaging]") {
    MemberBench bench;
    const wire::Plan plan = bench.plan(1, true);
    bench.follow(plan);
    wire::Plan amended = plan;
    amended.attempt = 2;
    amended.members = {{.peer = KeyPair::generate().public_key(), .samples = Samples{1}}};
    amended.ranges = {{.member = PeerIndex{0}, .first_chunk = 0, .last_chunk = 1}};
    bench.follow(amended);
    CHECK(bench.member.missing().senders == std::set{bench.other});
    bench.out.messages.clear();
    bench.member.advance(TimePoint{} + 4 * bench.config.rules.stall_timeout, bench.out);
    const auto stalled = bench.said<wire::Stalled>();
    REQUIRE(stalled.size() == 1);
    CHECK(stalled[0].attempt == plan.attempt);
    CHECK(stalled[0].senders == std::vector{wire::index_of(plan, bench.other)});
    // A whole contribution makes it ready in the attempt that it follows, which is over.
    bench.receive_from_other();
    for (const OutgoingMessage& message : bench.out.messages) {
        if (const auto* ready = std::get_if<wire::Ready>(&message.body)) {
            CHECK(ready->attempt == plan.attempt);
        }
    }
    CHECK(bench.ready());
}
