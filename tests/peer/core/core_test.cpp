// How one peer decides where the history stands: frames by hand, real certificates.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <utility>
#include <variant>
#include <vector>

#include "tests/peer/core/beside_backbone.hpp"

using namespace dedloc;
using namespace dedloc::tests;
using namespace std::chrono_literals;

namespace {

std::vector<StepIndex> steps_of(const std::vector<action::Committed>& committed) {
    std::vector<StepIndex> steps;
    for (const auto& one : committed) steps.push_back(one.record.step);
    return steps;
}

std::vector<StepIndex> steps(std::uint64_t first, std::uint64_t end) {
    std::vector<StepIndex> all;
    for (std::uint64_t step = first; step < end; ++step) all.push_back(StepIndex{step});
    return all;
}

}  // namespace

// --- certificates ------------------------------------------------------------

TEST_CASE("a forged certificate moves no head", "[membership]") {
    const Role role = GENERATE(Role::kTrainer, Role::kAggregator, Role::kBackbone);
    Beside beside{role};
    HandFed& peer = beside.peer;
    OtherEnd& liar = peer.introduce(kOther);
    peer.hear(liar, {}, wire::Heartbeat{});
    peer.hear(*beside.backbone, {}, wire::Heartbeat{});
    beside.decide(7);
    const wire::StateVotes good = beside.history.state_votes();
    const StepIndex step = beside.history.head().step;
    auto forged = good;
    forged.votes[0].signature[3] ^= std::byte{1};
    peer.hear(liar, step, forged);
    peer.hear(*beside.backbone, step, forged);
    peer.hear(liar, step, beside.history.state_votes({kOther}));
    peer.hear(liar, step,
              wire::StateVotes{.record = good.record, .state = good.state, .votes = {}});
    forged = good;
    forged.state.bytes[0] ^= std::byte{1};
    peer.hear(liar, step, forged);
    peer.hear(liar, step.next(), good);
    peer.hear(liar, step, good, 1);  // a generation that is not here
    peer.hear(liar, step,
              wire::StateVotes{.record = good.record, .state = good.state, .votes = {}});
    peer.pass(3s);
    CHECK(peer.step() == StepIndex{0});
    CHECK(peer.acted<action::Pause>().empty());
    CHECK(peer.said<wire::StateQuery>().empty());
    CHECK(peer.acted<action::Committed>().empty());
}

TEST_CASE("a certificate moves the head of a newcomer and of an aggregator", "[membership]") {
    const Role role = GENERATE(Role::kTrainer, Role::kAggregator);
    const std::size_t behind = GENERATE(1u, 2u, 7u);
    Beside beside{role};
    HandFed& peer = beside.peer;
    OtherEnd& other = peer.introduce(kOther);
    beside.decide(behind);
    const StepIndex step = beside.history.head().step;
    peer.hear(other, step, beside.history.heartbeat());
    peer.hear(*beside.backbone, step, beside.history.heartbeat());
    CHECK(peer.said<wire::StateQuery>().empty());          // only a claim so far
    peer.hear(other, step, beside.history.state_votes());  // whichever peer relays it
    // The Commit of the next step may be under way.
    const bool waits = role == Role::kTrainer && behind == 1;
    CHECK(peer.acted<action::Pause>().size() == (role == Role::kTrainer && !waits ? 1 : 0));
    peer.pass(2 * 1s);
    CHECK(peer.step() == step);
    if (role == Role::kAggregator) return;
    CHECK(peer.acted<action::Pause>().size() == 1);
    const auto queries = peer.said<wire::StateQuery>();
    REQUIRE_FALSE(queries.empty());
    CHECK_FALSE(peer.acted<action::Committed>().size() > 0);
}

TEST_CASE("a certificate of the present step with another state makes the peer fetch it",
          "[membership]") {
    Beside beside{Role::kTrainer};
    HandFed& peer = beside.peer;
    const auto decisions = beside.decide(1);
    beside.hear_commit(decisions[0]);
    peer.tell(event::StateReached{.step = StepIndex{1}, .digest = Digest{{std::byte{66}}}});
    peer.hear(*beside.backbone, StepIndex{1}, beside.history.heartbeat());
    peer.forget();
    peer.hear(*beside.backbone, StepIndex{1}, beside.history.state_votes());
    CHECK(peer.acted<action::Pause>().size() == 1);
    CHECK(peer.has_note("our state is not the one that the voters have signed"));
    CHECK(peer.said_to<wire::StateQuery>(*beside.backbone).size() == 1);
    CHECK(peer.step() == StepIndex{1});
}

TEST_CASE("a claim of a higher step causes no queries and no pause", "[membership]") {
    const Role role = GENERATE(Role::kTrainer, Role::kBackbone);
    Beside beside{role};
    HandFed& peer = beside.peer;
    OtherEnd& liar = peer.introduce(kOther);
    peer.hear(*beside.backbone, {}, beside.history.heartbeat());
    WrittenHistory ahead{kBackbone};
    for (int k = 0; k < 50; ++k) ahead.decide();
    peer.forget();
    for (int k = 0; k < 30; ++k) {
        peer.hear(liar, StepIndex{50}, ahead.heartbeat({.number = 9, .coordinator = liar.peer()}));
        peer.pass(100ms);
    }
    CHECK(peer.step() == StepIndex{0});
    CHECK(peer.said<wire::StateQuery>().empty());
    CHECK(peer.said<wire::CommitQuery>().empty());
    CHECK(peer.acted<action::Pause>().empty());
    // It receives nothing but the heartbeat that every peer receives once a second.
    CHECK(peer.said_to<wire::Heartbeat>(liar).size() <= 8);
    // Nor for the claim of a voter, but that a keeper of history asks it for the commits.
    peer.forget();
    for (int k = 0; k < 30; ++k) {
        peer.hear(*beside.backbone, StepIndex{50}, ahead.heartbeat());
        peer.pass(100ms);
    }
    CHECK(peer.said<wire::StateQuery>().empty());
    CHECK(peer.acted<action::Pause>().empty());
    const std::size_t queries = peer.said<wire::CommitQuery>().size();
    if (role == Role::kBackbone) {
        CHECK((queries >= 1 && queries <= 5));
    } else {
        CHECK(queries == 0);
    }
}

// --- keepers of history ------------------------------------------------------

TEST_CASE("a keeper of history asks for the commits that it has missed and never jumps",
          "[membership]") {
    Beside beside{Role::kBackbone};
    HandFed& peer = beside.peer;
    const auto decisions = beside.decide(20);
    const StepIndex step = beside.history.head().step;
    peer.hear(*beside.backbone, step, beside.history.heartbeat());
    peer.hear(*beside.backbone, step, beside.history.state_votes());
    REQUIRE(peer.said_to<wire::CommitQuery>(*beside.backbone).size() == 1);
    CHECK(peer.acted<action::Pause>().empty());
    // Not in order: only the one that follows the head counts.
    beside.hear_commit(decisions[1]);
    CHECK(peer.acted<action::Committed>().empty());
    for (std::size_t k = 0; k < wire::kMaxCommitsPerQuery; ++k) beside.hear_commit(decisions[k]);
    CHECK(steps_of(peer.acted<action::Committed>()) == steps(0, wire::kMaxCommitsPerQuery));
    // As many as come at once, so there may be more: it asks on as soon as it would be answered.
    peer.pass(50ms);
    const auto queries = peer.said_to<wire::CommitQuery>(*beside.backbone);
    CHECK(queries.size() == 2);
    CHECK(spoken(peer.actions).back().message.step.value() <= 20);
    for (const Decision& decision : decisions) beside.hear_commit(decision);
    CHECK(steps_of(peer.acted<action::Committed>()) == steps(0, 20));
    CHECK(peer.step() == StepIndex{20});
    peer.forget();
    peer.pass(5s);
    CHECK(peer.said<wire::CommitQuery>().empty());
}

TEST_CASE("a keeper takes no commit that a majority has not signed", "[membership]") {
    Beside beside{Role::kBackbone};
    HandFed& peer = beside.peer;
    Decision decision = beside.decide(1).front();
    Decision forged = decision;
    forged.certificate.votes[0].signature[0] ^= std::byte{1};
    beside.hear_commit(forged);
    forged = decision;
    forged.certificate.votes[0].voter = kOther.public_key();
    beside.hear_commit(forged);
    forged.certificate.votes[0].signature =
        kOther.sign(vote_bytes({}, forged.certificate.term, digest_of(forged.record)));
    beside.hear_commit(forged);
    forged = decision;
    forged.record.members[0].samples = Samples{9};
    beside.hear_commit(forged);
    CHECK(peer.acted<action::Committed>().empty());
    beside.hear_commit(decision);
    CHECK(peer.acted<action::Committed>().size() == 1);
    beside.hear_commit(decision);
    CHECK(peer.acted<action::Committed>().size() == 1);
}

TEST_CASE("history is read for keepers, and told across a generation", "[membership]") {
    Beside beside{Role::kBackbone};
    HandFed& peer = beside.peer;
    OtherEnd& keeper = peer.introduce(kOther, kBackboneEnd);
    const auto query = [&] {
        peer.forget();
        peer.hear(keeper, StepIndex{2}, wire::CommitQuery{});
        return peer.acted<action::ReadHistory>();
    };
    const auto reads = query();
    REQUIRE(reads.size() == 1);
    CHECK(reads[0].to == keeper.peer());
    CHECK(reads[0].generation == 0);
    CHECK(reads[0].step == StepIndex{2});
    CHECK(reads[0].max_entries == wire::kMaxCommitsPerQuery);
    CHECK(query().empty());  // each reads the ledger
    peer.pass(20ms);
    CHECK(query().size() == 1);

    std::vector<std::variant<Decision, SignedGeneration>> entries;
    const auto decisions = beside.decide(3);
    entries.emplace_back(decisions[2]);
    const SignedGeneration generation = beside.history.appoint({kOther, kThird}, kProject);
    entries.emplace_back(generation);
    const Decision after = beside.history.decide();
    entries.emplace_back(after);
    peer.forget();
    peer.tell(event::HistoryRead{.to = keeper.peer(), .entries = entries});
    const auto told = spoken(peer.actions);
    REQUIRE(told.size() == 3);
    for (const Spoken& one : told) CHECK(one.link == keeper.link);
    CHECK(std::get<wire::Commit>(told[0].message.body) == wire::full_commit(decisions[2]));
    CHECK(told[0].message.step == StepIndex{2});
    CHECK(std::get<wire::Generation>(told[1].message.body).generation == generation);
    CHECK(std::get<wire::Commit>(told[2].message.body) == wire::full_commit(after));

    // A keeper that is told this goes on across the generation.
    Beside follower{Role::kBackbone};
    follower.decide(3);
    for (const Decision& decision : decisions) follower.hear_commit(decision);
    follower.peer.hear(*follower.backbone, StepIndex{3}, wire::Generation{generation}, 0);
    follower.hear_commit(after);
    CHECK(steps_of(follower.peer.acted<action::Committed>()) == steps(0, 4));
    CHECK(follower.peer.acted<action::GenerationBegun>().size() == 1);
    CHECK(follower.peer.place() == std::pair{std::uint64_t{1}, StepIndex{4}});
}

TEST_CASE("only keepers of history read it", "[membership]") {
    Beside beside{Role::kTrainer};
    beside.peer.hear(*beside.backbone, {}, wire::CommitQuery{});
    CHECK(beside.peer.acted<action::ReadHistory>().empty());
}

TEST_CASE("a generation beyond the head of a keeper waits for the history before it",
          "[membership]") {
    Beside beside{Role::kBackbone};
    HandFed& peer = beside.peer;
    OtherEnd& other = peer.introduce(kOther);
    const auto decisions = beside.decide(3);
    SignedGeneration generation = beside.history.appoint({kThird}, kProject);
    SignedGeneration forged = generation;
    forged.signature[0] ^= std::byte{1};
    peer.hear(other, StepIndex{3}, wire::Generation{forged}, 1);
    peer.pass(2s);
    CHECK(peer.said<wire::CommitQuery>().empty());
    peer.hear(other, StepIndex{3}, wire::Generation{generation}, 1);
    CHECK(peer.acted<action::GenerationBegun>().empty());
    // A member may have told it; backbones have what led to it.
    CHECK(peer.said_to<wire::CommitQuery>(other).empty());
    CHECK(peer.said_to<wire::CommitQuery>(*beside.backbone).size() == 1);
    for (const Decision& decision : decisions) {
        CHECK(peer.acted<action::GenerationBegun>().empty());
        beside.hear_commit(decision);
    }
    CHECK(steps_of(peer.acted<action::Committed>()) == steps(0, 3));
    const auto begun = peer.acted<action::GenerationBegun>();
    REQUIRE(begun.size() == 1);
    CHECK(begun[0].generation == generation);
    CHECK(peer.place() == std::pair{std::uint64_t{1}, StepIndex{3}});
}

TEST_CASE("other peers begin a generation at once", "[membership]") {
    const Role role = GENERATE(Role::kTrainer, Role::kAggregator);
    Beside beside{role};
    HandFed& peer = beside.peer;
    OtherEnd& other = peer.introduce(kOther);
    beside.decide(3);
    const SignedGeneration generation = beside.history.appoint({kThird}, kProject);
    SignedGeneration forged = generation;
    forged.record.voters = {kOther.public_key()};
    peer.hear(other, StepIndex{3}, wire::Generation{forged}, 1);
    CHECK(peer.acted<action::GenerationBegun>().empty());
    peer.hear(other, StepIndex{3}, wire::Generation{generation}, 1);
    CHECK(peer.acted<action::GenerationBegun>().size() == 1);
    CHECK(peer.place() == std::pair{std::uint64_t{1}, StepIndex{3}});
}

TEST_CASE("what peers have been told in one generation does not silence the next", "[membership]") {
    PeerConfig config = config_of(Role::kBackbone);
    Beside beside{Role::kBackbone, config};
    HandFed& peer = beside.peer;
    OtherEnd& member = peer.introduce(kOther);
    const wire::Heartbeat beginning = beside.history.heartbeat();
    const auto old = beside.decide(2);
    for (const Decision& decision : old) beside.hear_commit(decision);
    peer.pass(1s);
    peer.forget();
    peer.hear(member, StepIndex{1}, beginning);
    REQUIRE(peer.said_to<wire::Commit>(member).size() == 1);  // it is told of the step 1
    // The project goes on from the first state; then step 0 and step 1 are decided again.
    WrittenHistory anew{kBackbone};
    const SignedGeneration generation = anew.appoint({kBackbone}, kProject);
    peer.hear(*beside.backbone, {}, wire::Generation{generation});
    REQUIRE(peer.acted<action::GenerationBegun>().size() == 1);
    const Decision again = anew.decide();
    peer.hear(*beside.backbone, again.record.step, wire::full_commit(again), 1);
    peer.pass(1s);
    peer.forget();
    peer.hear(member, {}, beginning, 1);
    CHECK(peer.said_to<wire::Commit>(member).size() == 1);
}

// --- voters ------------------------------------------------------------------

namespace {

/// The memory of a voter that `generation` appoints and that has not voted yet.
PeerConfig voter_config(const SignedGeneration& generation) {
    PeerConfig config = config_of(Role::kBackbone);
    config.generation = generation;
    config.voter = first_memory(0, false);
    return config;
}

}  // namespace

TEST_CASE("a voter that sees its own signature beyond its ledger stops voting", "[membership]") {
    WrittenHistory history{kBackbone};
    const SignedGeneration generation = history.appoint({kSelf, kOther, kThird}, kProject);
    HandFed peer{voter_config(generation), kSelf};
    peer.tell(event::StateReached{.step = {}, .digest = history.state()});
    OtherEnd& other = peer.introduce(kOther, kBackboneEnd);
    peer.hear(other, {}, history.heartbeat(), 1);
    REQUIRE(peer.heartbeat().may_vote);
    const Decision decision = history.decide();
    const auto sorted = [](std::vector<KeyPair> keys) {
        std::ranges::sort(keys, {}, &KeyPair::public_key);
        return keys;
    };
    SECTION("of the others: it has only missed something") {
        peer.hear(other, StepIndex{1}, history.state_votes(sorted({kOther, kThird})), 1);
        CHECK(peer.heartbeat().may_vote);
    }
    SECTION("its own, which it does not remember") {
        history.decide();
        peer.forget();
        peer.hear(other, StepIndex{2}, history.state_votes(sorted({kOther, kSelf})), 1);
        const auto voted = peer.acted<action::Voted>();
        REQUIRE_FALSE(voted.empty());
        CHECK_FALSE(voted.back().state.may_vote);
        CHECK(peer.has_note("it votes no more until the project appoints voters again"));
        CHECK_FALSE(peer.heartbeat().may_vote);
        CHECK(peer.step() == StepIndex{0});
        // It still keeps the history.
        peer.hear(other, decision.record.step, wire::full_commit(decision), 1);
        CHECK(peer.acted<action::Committed>().size() == 1);
        CHECK_FALSE(peer.heartbeat().may_vote);
    }
    SECTION("or of a state that it holds") {
        peer.hear(other, decision.record.step, wire::full_commit(decision), 1);
        peer.tell(event::StateReached{.step = StepIndex{1}, .digest = history.state()});
        peer.hear(other, StepIndex{1}, history.state_votes(sorted({kOther, kSelf})), 1);
        CHECK(peer.heartbeat().may_vote);
    }
}

TEST_CASE("voters sign the state that a commit leads to, and tell each other", "[membership]") {
    WrittenHistory history{kBackbone};
    const SignedGeneration generation = history.appoint({kSelf, kOther, kThird}, kProject);
    HandFed peer{voter_config(generation), kSelf};
    peer.tell(event::StateReached{.step = {}, .digest = history.state()});
    OtherEnd& voter = peer.introduce(kOther, kBackboneEnd);
    OtherEnd& member = peer.introduce(test_key(9));
    peer.hear(voter, {}, history.heartbeat(), 1);
    peer.hear(member, {}, history.heartbeat(), 1);
    const Decision decision = history.decide();
    peer.hear(voter, decision.record.step, wire::full_commit(decision), 1);
    peer.forget();
    peer.tell(event::StateReached{.step = StepIndex{1}, .digest = history.state()});
    const auto votes = peer.said_to<wire::StateVotes>(voter);
    REQUIRE(votes.size() == 1);
    CHECK(votes[0] == history.state_votes({kSelf}));
    CHECK(peer.said_to<wire::StateVotes>(member).empty());  // one vote proves nothing
    // Another voter's vote completes the certificate; a newcomer receives it.
    peer.hear(voter, StepIndex{1}, history.state_votes({kOther}), 1);
    peer.forget();
    OtherEnd& newcomer = peer.introduce(test_key(10));
    const auto proof = peer.said_to<wire::StateVotes>(newcomer);
    REQUIRE(proof.size() == 1);
    CHECK(proof[0].state == history.state());
    CHECK(proof[0].votes.size() == 2);
}
