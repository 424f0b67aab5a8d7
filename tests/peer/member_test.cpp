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
    Bench() : voter(config, key), member(config, key.public_key(), voter) {
        const StepIndex start{0};
        member.state_reached({.step = start, .digest = {}}, out);
        member.called(start, {.term = term(1)}, out);
        auto sum = std::make_shared<FloatVector>(kElements, 6.0F);
        member.frozen(
            {.step = start, .contribution = {.samples = Samples{2}, .loss_sum = 1, .sum = sum}},
            out);
        out.letters.clear();
        out.actions.clear();
    }
    static PeerConfig config_for(const KeyPair& key) {
        PeerConfig config;
        config.backbone = key.public_key();
        config.role = Role::kBackbone;
        config.listening_port = 1;
        config.rules.elements = kElements;
        return config;
    }
    Term term(std::uint64_t number) const {
        return {.number = number, .coordinator = key.public_key()};
    }
    std::uint32_t freeze() {
        member.called(StepIndex{0}, {.term = term(1)}, out);
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
    void follow(const wire::Plan& plan) { member.planned(TimePoint{}, StepIndex{0}, plan, out); }
    void receive_from_other() {
        member.chunk(TimePoint{}, other, StepIndex{0},
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
    const PeerConfig config = config_for(key);
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
