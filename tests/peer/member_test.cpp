// A member's part in a round, told what to do by hand.
#include <bit>
#include <catch2/catch.hpp>
#include <optional>
#include <variant>
#include <vector>

#include "peer/round/member.hpp"

using namespace dedloc;
using namespace dedloc::round;

namespace {

constexpr std::uint32_t kElements = 16;

/// A backbone alone in its view, as a member that computes. The other contributor only sends.
struct Bench {
    explicit Bench(Codec codec = Codec::kFp32, float number = 6.0F)
        : config(config_for(key, codec)),
          voter(config, key),
          member(config, key.public_key(), voter) {
        begin(number);
    }
    /// At the head's state, it has frozen a sum of this number.
    void begin(float number) {
        member.state_reached({.step = step(), .digest = {}}, out);
        member.called(step(), {.term = term(1)}, out);
        auto sum = std::make_shared<FloatVector>(kElements, number);
        member.frozen(
            {.step = step(), .contribution = {.samples = Samples{2}, .loss_sum = 1, .sum = sum}},
            out);
        out.letters.clear();
        out.actions.clear();
    }
    StepIndex step() const { return voter.head().step; }
    static PeerConfig config_for(const KeyPair& key, Codec codec) {
        PeerConfig config;
        config.backbone = key.public_key();
        config.role = Role::kBackbone;
        config.listening_port = 1;
        config.rules.elements = kElements;
        config.rules.codec = codec;
        return config;
    }
    Term term(std::uint64_t number) const {
        return {.number = number, .coordinator = key.public_key()};
    }
    std::uint32_t freeze() {
        member.called(step(), {.term = term(1)}, out);
        return std::get<wire::Join>(out.letters.back().body).freeze;
    }
    wire::Plan plan(std::uint64_t term_number, bool with_other) {
        wire::Plan plan{.term = term(term_number),
                        .attempt = 1,
                        .elements = kElements,
                        .chunk_elements = kElements,
                        .scalars = {},
                        .members = {{.peer = key.public_key(),
                                     .samples = Samples{2},
                                     .loss_sum = 1,
                                     .freeze = freeze(),
                                     .receives = true}},
                        .ranges = {},
                        .reducers = {},
                        .relays = {},
                        .expected = {}};
        if (with_other) {
            plan.members.push_back({.peer = other, .samples = Samples{1}, .freeze = 9});
            if (other < key.public_key()) std::swap(plan.members[0], plan.members[1]);
        }
        const bool is_first = plan.members[0].peer == key.public_key();
        plan.ranges = {
            {.member = PeerIndex{is_first ? 0U : 1U}, .first_chunk = 0, .last_chunk = 1}};
        return plan;
    }
    void follow(const wire::Plan& plan) { member.planned(TimePoint{}, step(), plan, out); }
    void receive_from_other() {
        member.chunk(TimePoint{}, other, step(),
                     {.phase = wire::Phase::kScatter,
                      .mix = 9,
                      .chunk = 0,
                      .chunk_elements = kElements,
                      .elements = FloatVector(kElements, 9.0F)},
                     out);
    }
    /// What it is ready with since the last call; nothing if it is not.
    std::optional<Digest> ready() {
        std::optional<Digest> average;
        for (const Letter& letter : out.letters) {
            if (const auto* told = std::get_if<wire::Ready>(&letter.body)) average = told->average;
        }
        out.letters.clear();
        return average;
    }
    /// The record of this plan is decided; the average that is applied, if any.
    SharedFloats decide(const wire::Plan& plan, const Digest& average) {
        const auto record = record_of(plan,
                                      {.term = plan.term,
                                       .attempt = plan.attempt,
                                       .digest = {},
                                       .average = average,
                                       .previous_state = {},
                                       .stays = std::vector<std::uint8_t>(plan.members.size(), 1),
                                       .record = {}},
                                      voter.head());
        REQUIRE(record);
        out.actions.clear();
        member.decided(*record, {}, out);
        for (const Action& action : out.actions) {
            if (const auto* apply = std::get_if<action::Apply>(&action)) return apply->average;
        }
        return nullptr;
    }

    const KeyPair key = KeyPair::generate();
    const PeerKey other = KeyPair::generate().public_key();
    const PeerConfig config;
    Outbox out;
    membership::Voter voter;
    Member member;
};

}  // namespace

TEST_CASE("a member keeps what it was ready with when a later coordinator averages anew",
          "[averaging]") {
    // Of the first plan's record one voter alone may have heard, and it must be proposed again.
    Bench bench;
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

    SECTION("the first is decided") {
        const auto applied = bench.decide(first, *first_average);
        REQUIRE(applied);
        REQUIRE(*applied == FloatVector(kElements, 3.0F));
        REQUIRE(bench.voter.may_vote());
    }
    SECTION("the second is decided") {
        const auto applied = bench.decide(second, *second_average);
        REQUIRE(applied);
        REQUIRE(*applied == FloatVector(kElements, 5.0F));
    }
    SECTION("one that was never here is decided") {
        REQUIRE(bench.decide(first, Digest{}) == nullptr);
        REQUIRE_FALSE(bench.voter.may_vote());
    }
}

TEST_CASE("a plan that says otherwise of what we receive is not ours", "[averaging]") {
    Bench bench;
    wire::Plan plan = bench.plan(1, false);
    plan.members.front().receives = false;
    bench.follow(plan);
    REQUIRE_FALSE(bench.ready());
    bench.follow(bench.plan(2, false));
    REQUIRE(bench.ready());
}

TEST_CASE("rounding is made up for by who has been averaged, and by nobody else", "[averaging]") {
    // Norm 0.4, so the unit is 2⁻¹⁶, and 0.1 lies where binary16 has every fourth.
    constexpr float kNumber = 0.1F;
    constexpr float kSent = 6'552 * 0x1p-16F;
    Bench bench{Codec::kFp16, kNumber};
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
        // 0.1 and what was owed are nearer to the number after.
        const float rest = kNumber + owed.front() - 6'556 * 0x1p-16F;
        REQUIRE(*bench.member.residual() == FloatVector(kElements, rest));
    }
    SECTION("called off, and frozen anew") {
        bench.member.cancelled(bench.step(), bench.out);
        REQUIRE(*bench.member.residual() == owed);
        bench.begin(kNumber);
        REQUIRE(*bench.member.residual() == owed);
    }
    SECTION("decided without us") {
        wire::Plan others = bench.plan(1, true);
        std::erase_if(others.members, [&](const auto& m) { return m.peer != bench.other; });
        bench.decide(others, average);
        REQUIRE(*bench.member.residual() == owed);
    }
    SECTION("decided with what was called off before") {
        wire::Plan earlier = plan;
        earlier.members.front().loss_sum = 9;
        bench.decide(earlier, average);
        REQUIRE(bench.member.residual() == nullptr);
    }
    SECTION("left before anything was decided") {
        bench.member.outdated(bench.out);
        REQUIRE(bench.member.residual() == nullptr);
    }
}
