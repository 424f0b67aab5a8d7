// How one peer takes part in rounds, holds its contribution without a coordinator, and coordinates.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <limits>
#include <memory>
#include <vector>

#include "peer/round/member.hpp"
#include "peer/wire/limits.hpp"
#include "tests/peer/core/beside_backbone.hpp"

using namespace dedloc;
using namespace dedloc::tests;
using namespace std::chrono_literals;

// --- a member's round --------------------------------------------------------

namespace {

Contribution contribution_of(std::uint64_t samples) {
    Contribution contribution{
        .samples = Samples{samples}, .loss_sum = 0, .is_finite = true, .sum = nullptr};
    if (samples > 0) contribution.sum = std::make_shared<FloatVector>(kElements, 1.0F);
    return contribution;
}

/// Called by the backbone, and in the plan with it, which reduces everything.
struct Called : Beside {
    Called() : Beside(Role::kTrainer) {
        peer.hear(*backbone, {}, history.heartbeat(history.term()));
        peer.hear(*backbone, {}, wire::Call{history.term()});
        REQUIRE(peer.acted<action::Freeze>().size() == 1);
        peer.tell(event::ContributionFrozen{.step = {}, .contribution = contribution_of(5)});
        const auto joins = peer.said_to<wire::Join>(*backbone);
        REQUIRE(joins.size() == 1);
        plan.term = history.term();
        plan.attempt = 1;
        plan.elements = plan.chunk_elements = kElements;
        plan.members = {{.peer = kSelf.public_key(),
                         .samples = Samples{5},
                         .loss_sum = 0,
                         .contribution_id = joins[0].contribution_id},
                        {.peer = kBackbone.public_key(), .samples = Samples{0}}};
        std::ranges::sort(plan.members, {}, &wire::PlanMember::peer);
        const auto reducer = wire::index_of(plan, kBackbone.public_key());
        plan.ranges = {{.member = PeerIndex{reducer}, .first_chunk = 0, .last_chunk = 1}};
        peer.hear(*backbone, {}, plan);
        record = round::record_of(plan, average, history.state(), history.head());
    }
    wire::Commit commit() const {
        return {.digest = digest_of(record),
                .certificate = history.certify(record),
                .attempt = plan.attempt,
                .average = average,
                .previous_state = history.state(),
                .record = {}};
    }
    wire::Plan plan;
    const Digest average{{std::byte{7}}};
    CommitRecord record;
};

}  // namespace

TEST_CASE("a commit without a record is taken by the plan", "[membership]") {
    Called called;
    called.peer.forget();
    called.peer.hear(*called.backbone, {}, called.commit());
    const auto committed = called.peer.acted<action::Committed>();
    REQUIRE(committed.size() == 1);
    CHECK(committed[0].record == called.record);
    CHECK(committed[0].certificate == called.history.certify(called.record));
    CHECK(called.peer.step() == StepIndex{1});
}

TEST_CASE("a commit whose digest does not follow from the plan is ignored", "[membership]") {
    Called called;
    const auto ignored = [&](auto change) {
        wire::Commit commit = called.commit();
        change(commit);
        called.peer.hear(*called.backbone, {}, commit);
        return called.peer.acted<action::Committed>().empty();
    };
    CHECK(ignored([](auto& commit) { commit.digest.bytes[0] ^= std::byte{1}; }));
    CHECK(ignored([](auto& commit) { commit.average.bytes[0] ^= std::byte{1}; }));
    CHECK(ignored([](auto& commit) { ++commit.attempt; }));
    CHECK(ignored([](auto& commit) { ++commit.certificate.term.number; }));
    CHECK(ignored([](auto& commit) { commit.certificate.votes[0].signature[1] ^= std::byte{1}; }));
    CHECK(ignored([](auto& commit) {
        commit.certificate.votes[0] = {
            .voter = kOther.public_key(),
            .signature = kOther.sign(vote_bytes({}, commit.certificate.term, commit.digest))};
    }));
    CHECK(called.peer.step() == StepIndex{0});
    called.peer.hear(*called.backbone, {}, called.commit());
    CHECK(called.peer.acted<action::Committed>().size() == 1);
}

TEST_CASE("a peer that stays after all has missed nothing while it was leaving", "[core]") {
    Called called;
    HandFed& peer = called.peer;
    // Its chunks are due to a reducer that is not linked, so it does not leave at once.
    wire::Plan plan = called.plan;
    ++plan.attempt;
    plan.members.push_back({.peer = kOther.public_key(), .samples = Samples{0}});
    std::ranges::sort(plan.members, {}, &wire::PlanMember::peer);
    plan.ranges[0].member = PeerIndex{wire::index_of(plan, kOther.public_key())};
    peer.hear(*called.backbone, {}, plan);
    peer.tell(event::LeaveRequested{});
    peer.forget();
    Term next = called.history.term();
    ++next.number;
    peer.hear(*called.backbone, {}, wire::TurnChange{.term = next, .kind = TurnKind::kRest});
    peer.hear(*called.backbone, {}, wire::Call{next});
    REQUIRE(peer.acted<action::Left>().empty());
    CHECK(peer.said<wire::Join>().empty());
    CHECK(peer.acted<action::TurnChanged>().size() == 1);
    const bool returns = GENERATE(true, false);
    if (!returns) peer.pass(1s);
    CHECK(peer.acted<action::Left>().size() == (returns ? 0 : 1));
    peer.tell(event::ReturnRequested{});
    const auto joins = peer.said<wire::Join>();
    REQUIRE(joins.size() == (returns ? 1 : 0));
    if (returns) CHECK(joins[0].term == next);
}

TEST_CASE("only a voter calls or plans a round", "[membership]") {
    Beside beside{Role::kTrainer};
    HandFed& peer = beside.peer;
    OtherEnd& member = peer.introduce(kOther, {.port = 4'002});
    const Term term{.number = 50, .coordinator = kOther.public_key()};
    peer.hear(member, {}, beside.history.heartbeat(term));
    peer.hear(member, {}, wire::Call{term});
    // In the backbone's name.
    peer.hear(member, {}, wire::Call{beside.history.term()});
    CHECK(peer.acted<action::Freeze>().empty());
    CHECK(peer.heartbeat().term == Term{});
}

// --- without a coordinator ---------------------------------------------------

TEST_CASE("without a coordinator trainers stop at the target batch and wait", "[membership]") {
    Beside beside{Role::kTrainer};
    HandFed& peer = beside.peer;
    OtherEnd& other = peer.introduce(kOther);
    const auto hears_of = [&](std::uint64_t samples) {
        wire::Heartbeat heartbeat = beside.history.heartbeat();
        heartbeat.samples = Samples{samples};
        peer.hear(other, {}, heartbeat);
    };
    peer.hear(*beside.backbone, {}, beside.history.heartbeat(beside.history.term()));
    peer.tell(event::Progressed{.step = {}, .samples = Samples{60}, .samples_per_second = 1});
    hears_of(60);
    peer.pass(20s);
    CHECK(peer.acted<action::Freeze>().empty());  // the coordinator calls when it likes
    hears_of(20);
    peer.close(*beside.backbone);
    peer.pass(4s);
    CHECK(peer.acted<action::Freeze>().empty());  // the target is not reached
    hears_of(60);
    peer.pass(2s);
    REQUIRE(peer.acted<action::Freeze>().size() == 1);
    peer.tell(event::ContributionFrozen{.step = {}, .contribution = contribution_of(60)});
    peer.pass(1min);
    CHECK(peer.acted<action::Freeze>().size() == 1);
    CHECK(peer.said<wire::Join>().empty());
    const wire::Heartbeat heartbeat = peer.heartbeat();
    CHECK(heartbeat.is_frozen);
    CHECK(heartbeat.samples == Samples{60});

    OtherEnd& back = peer.introduce(kBackbone, kBackboneEnd);
    peer.hear(back, {}, beside.history.heartbeat(beside.history.term()));
    peer.forget();
    peer.hear(back, {}, wire::Call{beside.history.term()});
    const auto joins = peer.said_to<wire::Join>(back);
    REQUIRE(joins.size() == 1);
    CHECK(joins[0].samples == Samples{60});
    CHECK(peer.acted<action::Freeze>().empty());
}

// --- a coordinator -----------------------------------------------------------

namespace {

/// The backbone itself, the only voter: it coordinates from the first event on.
struct Leading {
    explicit Leading(Codec codec = Codec::kFp32) : peer(config(codec), kBackbone) {
        peer.tell(event::StateReached{.step = {}, .digest = history.state()});
        peer.pass(200ms);
        peer.forget();
    }
    static PeerConfig config(Codec codec) {
        PeerConfig config = config_of(Role::kBackbone);
        config.rules.codec = codec;
        config.voter = first_memory(0, true);
        config.rules.round_timeout = 1s;
        return config;
    }
    void reports(OtherEnd& end, std::uint64_t samples, bool is_frozen = false) {
        wire::Heartbeat heartbeat = history.heartbeat();
        heartbeat.samples = Samples{samples};
        heartbeat.is_frozen = is_frozen;
        peer.hear(end, {}, heartbeat);
    }
    bool has_called(const OtherEnd& end) const { return !peer.said_to<wire::Call>(end).empty(); }
    /// It answers a call with so many samples.
    void joins(OtherEnd& end, std::uint64_t samples) {
        const auto calls = peer.said_to<wire::Call>(end);
        REQUIRE_FALSE(calls.empty());
        wire::Join join;
        join.term = calls.back().term;
        join.contribution_id = 1;
        join.samples = Samples{samples};
        join.state = history.state();
        peer.hear(end, {}, join);
    }
    /// It has computed the target alone; the round is decided, and the next state is reached.
    void joins_a_round_of_its_own() {
        peer.tell(event::Progressed{.step = {}, .samples = Samples{100}, .samples_per_second = 1});
        peer.pass(4s);
        REQUIRE(peer.acted<action::Freeze>().size() == 1);
        peer.tell(event::ContributionFrozen{.step = {}, .contribution = contribution_of(100)});
        const auto committed = peer.acted<action::Committed>();
        REQUIRE(committed.size() == 1);
        history.follow(committed[0].record);
        peer.tell(event::StateReached{.step = StepIndex{1}, .digest = history.state()});
    }
    /// The backbone has frozen nothing.
    void joins_itself() {
        peer.tell(event::ContributionFrozen{.step = {}, .contribution = contribution_of(0)});
    }
    std::vector<PeerKey> planned() const {
        std::vector<PeerKey> members;
        const auto plans = peer.said<wire::Plan>();
        if (plans.empty()) return members;
        for (const auto& member : plans.back().members) members.push_back(member.peer);
        return members;
    }
    bool has_planned(const OtherEnd& end) const {
        return std::ranges::count(planned(), end.peer()) == 1;
    }

    WrittenHistory history{kBackbone};
    HandFed peer;
};

}  // namespace

TEST_CASE("a join over the allowance is left out, with all devices of its user", "[membership]") {
    Leading leading;
    HandFed& peer = leading.peer;
    OtherEnd& liar = peer.introduce(test_key(11), {.user = 7, .max_samples_per_second = 10});
    OtherEnd& sibling = peer.introduce(test_key(12), {.user = 7, .max_samples_per_second = 10});
    OtherEnd& honest = peer.introduce(test_key(13), {.user = 8, .max_samples_per_second = 10});
    for (OtherEnd* end : {&liar, &sibling, &honest}) leading.reports(*end, 0);
    peer.pass(30s);
    leading.reports(honest, 100);
    peer.pass(4s);
    for (OtherEnd* end : {&liar, &sibling, &honest}) REQUIRE(leading.has_called(*end));
    leading.joins_itself();
    leading.joins(honest, 100);
    leading.joins(sibling, 5);
    CHECK(leading.planned().empty());  // one is awaited
    // 10 a second for half a minute, and the target that it may have had before.
    leading.joins(liar, 1'000);
    CHECK(peer.has_note("claims 1000 samples, but only "));
    CHECK(leading.has_planned(honest));
    CHECK(leading.has_planned(sibling));  // it had joined by then
    CHECK_FALSE(leading.has_planned(liar));
    // The round comes to nothing, and the next one is without both.
    leading.reports(honest, 0);
    peer.pass(2s);
    REQUIRE_FALSE(peer.said<wire::Cancel>().empty());
    peer.forget();
    leading.reports(liar, 100);
    leading.reports(sibling, 100);
    peer.pass(5s);
    CHECK(peer.said<wire::Call>().empty());  // what they report does not count either
    leading.reports(honest, 100);
    peer.pass(4s);
    CHECK(leading.has_called(honest));
    CHECK_FALSE(leading.has_called(liar));
    CHECK_FALSE(leading.has_called(sibling));
    leading.joins_itself();
    leading.joins(honest, 100);
    CHECK(leading.has_planned(honest));
    // After a while they are called again.
    for (OtherEnd* end : {&liar, &sibling, &honest}) leading.reports(*end, 0);
    peer.pass(40s);
    peer.forget();
    leading.reports(honest, 100);
    peer.pass(4s);
    CHECK(leading.has_called(liar));
    CHECK(leading.has_called(sibling));
}

TEST_CASE("a round whose contributions are lost is not called again before the target is reached",
          "[membership]") {
    Leading leading;
    HandFed& peer = leading.peer;
    OtherEnd& trainer = peer.introduce(test_key(11));
    leading.reports(trainer, 100);
    peer.pass(4s);
    leading.joins_itself();
    leading.joins(trainer, 100);
    leading.reports(trainer, 0);
    peer.forget();
    peer.pass(4s);
    REQUIRE(peer.said_to<wire::Cancel>(trainer).size() == 1);
    CHECK_FALSE(peer.heartbeat().is_frozen);
    CHECK(peer.said<wire::Call>().empty());
    leading.reports(trainer, 99);
    peer.pass(4s);
    CHECK(peer.said<wire::Call>().empty());
    leading.reports(trainer, 100);
    peer.pass(4s);
    CHECK(peer.said_to<wire::Call>(trainer).size() == 1);
}

TEST_CASE("a join within the allowance of its ticket is planned", "[membership]") {
    Leading leading;
    HandFed& peer = leading.peer;
    OtherEnd& trainer = peer.introduce(test_key(11), {.user = 7, .max_samples_per_second = 10});
    leading.reports(trainer, 0);
    peer.pass(30s);
    leading.reports(trainer, 300);
    peer.pass(4s);
    REQUIRE(leading.has_called(trainer));
    leading.joins_itself();
    leading.joins(trainer, 400);
    CHECK(leading.has_planned(trainer));
    CHECK_FALSE(peer.has_note("claims"));
}

TEST_CASE("reports count no further than the allowance", "[membership]") {
    Leading leading;
    HandFed& peer = leading.peer;
    // A backbone alone completes a round: no peer can hold anything older.
    leading.joins_a_round_of_its_own();
    OtherEnd& liar = peer.introduce(test_key(11), {.max_samples_per_second = 10});
    peer.forget();
    wire::Heartbeat heartbeat = leading.history.heartbeat();
    heartbeat.samples = Samples{1'000'000};
    heartbeat.samples_per_second = 1e12;
    const TimePoint begun = peer.now;
    peer.hear(liar, leading.history.head().step, heartbeat);
    while (peer.said<wire::Call>().empty() && peer.now < begun + 1min) peer.pass(100ms);
    // A hundred samples at ten a second, but for what a heartbeat and its extrapolation add.
    CHECK(peer.now > begun + 6s);
    CHECK(peer.now < begun + 11s);
}

TEST_CASE("a join beside the codec of the run is left out", "[membership]") {
    const auto is_planned = [](Codec codec, std::uint8_t exponent, std::uint64_t samples = 100) {
        Leading leading{codec};
        OtherEnd& trainer = leading.peer.introduce(test_key(11));
        leading.reports(trainer, 100);
        leading.peer.pass(4s);
        leading.joins_itself();
        wire::Join join;
        join.term = leading.peer.said_to<wire::Call>(trainer).back().term;
        join.samples = Samples{samples};
        join.state = leading.history.state();
        join.exponent = exponent;
        leading.peer.hear(trainer, {}, join);
        const bool is_left_out = leading.peer.has_note("joins with numbers of another codec");
        CHECK(is_left_out == leading.planned().empty());
        return !is_left_out;
    };
    for (const Codec codec : {Codec::kFp32, Codec::kBf16}) {
        CHECK(is_planned(codec, 0));
        CHECK_FALSE(is_planned(codec, 127));
    }
    for (const std::uint8_t good : {wire::kMinHalfExponent, wire::kMaxHalfExponent}) {
        CHECK(is_planned(Codec::kFp16, good));
    }
    for (const std::uint8_t good : {wire::kMinInt8Exponent, wire::kMaxInt8Exponent}) {
        CHECK(is_planned(Codec::kInt8, good));
    }
    CHECK_FALSE(is_planned(Codec::kFp16, 0));
    CHECK_FALSE(is_planned(Codec::kFp16, wire::kMinHalfExponent - 1));
    CHECK_FALSE(is_planned(Codec::kInt8, 0));
    CHECK_FALSE(is_planned(Codec::kInt8, wire::kMaxInt8Exponent + 1));
    CHECK_FALSE(is_planned(Codec::kInt8, 127, 0));
}

TEST_CASE("a sender whose pieces are refused is left out of the round at once", "[membership]") {
    Leading leading;
    HandFed& peer = leading.peer;
    OtherEnd& liar = peer.introduce(test_key(11), {.user = 7});
    OtherEnd& honest = peer.introduce(test_key(13), {.user = 8});
    for (OtherEnd* end : {&liar, &honest}) leading.reports(*end, 50);
    peer.pass(4s);
    leading.joins_itself();
    for (OtherEnd* end : {&liar, &honest}) leading.joins(*end, 50);
    REQUIRE(leading.has_planned(liar));
    const wire::Plan plan = peer.said<wire::Plan>().back();
    FloatVector numbers(kElements, 1.0F);
    numbers[3] = std::numeric_limits<float>::infinity();
    peer.hear(liar, {},
              wire::Chunk{.kind = wire::ChunkKind::kScatter,
                          .sum_id = 1,
                          .chunk = 0,
                          .chunk_elements = plan.chunk_elements,
                          .elements = std::move(numbers)});
    CHECK(peer.has_note("pieces that cannot be averaged"));
    CHECK(peer.said<wire::Plan>().back().attempt == plan.attempt + 1);
    CHECK_FALSE(leading.has_planned(liar));
    CHECK(leading.has_planned(honest));
}

TEST_CASE("a returning coordinator calls at once for those that hold their contribution",
          "[membership]") {
    Leading leading;
    OtherEnd& trainer = leading.peer.introduce(test_key(11));
    leading.reports(trainer, 60, true);  // below the target
    leading.peer.pass(4s);               // members have the time to link again
    CHECK(leading.has_called(trainer));
    Leading other;
    OtherEnd& working = other.peer.introduce(test_key(11));
    other.reports(working, 60);
    other.peer.pass(20s);
    CHECK_FALSE(other.has_called(working));
}
