// Member of a run with overlap, driven by hand-made messages and events: which samples are in which
// contribution, and which are dropped.
#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <variant>
#include <vector>

#include "peer/round/member.hpp"

using namespace dedloc;
using namespace dedloc::round;

namespace {

constexpr std::uint32_t kElements = 16;
using Phase = Member::Phase;

/// A trainer that reduces everything itself. The coordinator is another peer, played by hand.
struct Bench {
    Bench() : config(made_config()), voter(config, key), member(config, key.public_key(), voter) {
        reach(0);
    }
    PeerConfig made_config() const {
        PeerConfig made;
        made.backbone = backbone;
        made.listening_port = 1;
        made.rules.elements = kElements;
        made.rules.target_batch = Samples{50};
        made.rules.last_step = StepIndex{100};
        made.rules.overlaps = true;
        return made;
    }
    /// The trainer's state has this digest, which names it in records.
    static Digest digest_at(std::uint64_t step) { return {{static_cast<std::byte>(step)}}; }

    // --- the trainer -----------------------------------------------------------
    void reach(std::uint64_t step) {
        member.state_reached({.step = StepIndex{step}, .digest = digest_at(step)}, out);
    }
    void progress(std::uint64_t samples) {
        member.progressed({.step = member.step(), .samples = Samples{samples}});
    }
    void hand_over(std::uint64_t samples) {
        const auto sum = std::make_shared<FloatVector>(kElements, 1.0F);
        member.frozen({.step = member.step(),
                       .contribution = {.samples = Samples{samples},
                                        .loss_sum = static_cast<double>(samples),
                                        .sum = samples > 0 ? sum : nullptr}},
                      out);
    }

    // --- the coordinator -------------------------------------------------------
    void call() { member.called(voter.head().step, {.term = term}, out); }
    void cancel() { member.cancelled(voter.head().step, out); }
    /// A plan with the member's last Join, and after it the member's average; or one without it.
    wire::Plan plan(const std::optional<wire::Join>& join) {
        wire::Plan plan{.term = term,
                        .attempt = ++attempt,
                        .elements = kElements,
                        .chunk_elements = kElements,
                        .scalars = {},
                        .members = {},
                        .ranges = {{.member = PeerIndex{0}, .first_chunk = 0, .last_chunk = 1}},
                        .reducers = {},
                        .relays = {},
                        .expected = {}};
        if (join) {
            plan.members = {{.peer = key.public_key(),
                             .samples = join->samples,
                             .loss_sum = join->loss_sum,
                             .contribution_id = join->contribution_id,
                             .receives = true,
                             .exponent = join->exponent}};
        } else {
            plan.members = {{.peer = backbone, .samples = Samples{9}, .contribution_id = 4}};
        }
        return plan;
    }
    /// The round of the head is decided with this plan, and with the average that the member has.
    void decide(const wire::Plan& plan) {
        member.planned({}, voter.head().step, plan, out);
        Digest average;
        for (const wire::Ready& ready : said<wire::Ready>()) average = ready.average;
        const Digest state = digest_at(voter.head().step.value());
        member.decided(record_of(plan, average, state, voter.head()), {}, out);
        member.check_invariants();
    }
    /// Called, frozen with so many samples, decided and applied.
    void pass_round(std::uint64_t samples) {
        call();
        hand_over(samples);
        decide(plan(joined()));
    }
    /// The average of this round arrives, which was decided without the member.
    void fetch_average(std::uint64_t step) {
        CommitRecord record;
        record.step = StepIndex{step};
        record.previous_state = digest_at(step);
        REQUIRE(member.caught_up(record, std::make_shared<FloatVector>(kElements), out));
    }
    /// The newest Join since the last call of this function.
    std::optional<wire::Join> joined() {
        const auto joins = said<wire::Join>();
        return joins.empty() ? std::nullopt : std::optional{joins.back()};
    }

    template <class Body>
    std::vector<Body> said() {
        std::vector<Body> all;
        std::erase_if(out.messages, [&](const OutgoingMessage& message) {
            const auto* body = std::get_if<Body>(&message.body);
            if (body != nullptr) all.push_back(*body);
            return body != nullptr;
        });
        return all;
    }
    /// All actions of one kind since the last call for it.
    template <class Kind>
    std::vector<Kind> acted() {
        std::vector<Kind> all;
        std::erase_if(out.actions, [&](const Action& action) {
            const auto* one = std::get_if<Kind>(&action);
            if (one != nullptr) all.push_back(*one);
            return one != nullptr;
        });
        return all;
    }

    const KeyPair key = KeyPair::generate();
    const PeerKey backbone = KeyPair::generate().public_key();
    const PeerConfig config;
    const Term term{.number = 1, .coordinator = backbone};
    Outbox out;
    membership::Voter voter;
    Member member;
    std::uint32_t attempt = 0;
};

}  // namespace

TEST_CASE("with overlap the trainer goes on once its contribution is frozen", "[averaging]") {
    Bench bench;
    CHECK(bench.acted<action::Work>().size() == 1);
    bench.call();
    REQUIRE(bench.acted<action::Freeze>().size() == 1);
    CHECK(bench.acted<action::Overlap>().empty());
    bench.hand_over(20);
    const auto overlaps = bench.acted<action::Overlap>();
    REQUIRE(overlaps.size() == 1);
    CHECK(overlaps[0].step == StepIndex{0});
    CHECK(overlaps[0].most == bench.config.rules.target_batch);

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
    Bench bench;
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
    Bench bench;
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
    Bench bench;
    SECTION("of a trainer that was not called") {
        bench.progress(8);
        bench.decide(bench.plan(std::nullopt));
        CHECK(bench.member.phase() == Phase::kIdle);
        CHECK(bench.acted<action::Pause>().empty());
        // It finishes its micro-batch while the average is fetched.
        const auto overlaps = bench.acted<action::Overlap>();
        REQUIRE(overlaps.size() == 1);
        CHECK(overlaps[0].most == Samples{0});
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
    Bench bench;
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
        bench.member.outdated(bench.out);
        CHECK(bench.acted<action::Pause>().size() == 1);
    }
    SECTION("by a suspension during an update") {
        bench.pass_round(20);
        bench.member.outdated(bench.out);
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
    Bench bench;
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
