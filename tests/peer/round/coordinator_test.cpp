// What a coordinator does in each phase of a round. "Claim N" names the claims of "Why no swarm
// splits" in peer/README.md.
#include "peer/round/coordinator.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <set>

#include "peer/membership/quorum.hpp"
#include "tests/peer/round/coordinator_bench.hpp"

using namespace dedloc;
using namespace dedloc::round;

namespace {

using Bench = CoordinatorBench;

Keys sorted(Keys keys) {
    std::ranges::sort(keys);
    return keys;
}

}  // namespace

// --- gather and call ----------------------------------------------------------

TEST_CASE("a round is called when the target batch is reached, and not before", "[round]") {
    Bench bench;
    const PeerKey one = bench.add(11, 40);
    bench.advance(1s);
    CHECK(bench.said<wire::Call>().empty());
    const PeerKey two = bench.add(12, 55);
    bench.advance(1s);
    CHECK(bench.said<wire::Call>().empty());
    bench.hear(bench.end(12), 56);
    bench.advance(1s);
    const auto calls = bench.sent<wire::Call>();
    REQUIRE(calls.size() == 1);
    CHECK(calls.front().step == bench.step());
    CHECK(std::get<wire::Call>(calls.front().body).term == bench.term());
    CHECK(sorted(calls.front().to) == sorted({bench.self(), one, two}));
}

TEST_CASE("only peers that hold the state of the head are called", "[round]") {
    Bench bench;
    const PeerKey sound = bench.add(11, 96);
    bench.introduce(12);  // has reported nothing yet
    Digest other_state;
    other_state.bytes[0] = std::byte{1};
    bench.hear(bench.introduce(13), 8, other_state);
    Actions actions;
    (void)bench.links.receive(
        bench.now, bench.introduce(14).says(1, StepIndex{2}, wire::Heartbeat{}), actions);
    bench.advance(1s);
    REQUIRE(bench.sent<wire::Call>().size() == 1);
    CHECK(sorted(bench.sent<wire::Call>().front().to) == sorted({bench.self(), sound}));
}

TEST_CASE("the keys of one user do not take the seats of others", "[round]") {
    const Role role = GENERATE(Role::kTrainer, Role::kAggregator);
    Bench bench;
    std::set<PeerKey> crowd;
    for (std::uint32_t n = 0; n < wire::kMaxMembers + 100; ++n) {
        std::array<std::byte, 32> seed{};
        std::memcpy(&seed[1], &n, sizeof n);
        auto& end = bench.introduce(KeyPair::from_seed(seed), 1'000 + n, {.user = 7, .role = role});
        bench.hear(end, 0);
        crowd.insert(end.peer());
    }
    std::set<PeerKey> others;
    for (const std::uint8_t n : Numbers{11, 12, 13, 14, 15}) {
        others.insert(bench.add(n, 96, {.user = n}));
    }
    bench.advance(1s);
    REQUIRE(bench.sent<wire::Call>().size() == 1);
    const Keys called = bench.sent<wire::Call>().front().to;
    const auto count = [&](const std::set<PeerKey>& peers) {
        return static_cast<std::size_t>(std::ranges::count_if(
            called, [&](const PeerKey& peer) { return peers.contains(peer); }));
    };
    CHECK(count(others) == others.size());
    const bool trains = role == Role::kTrainer;
    CHECK(count(crowd) == (trains ? wire::kMaxMembers - 1 - others.size() : wire::kMaxReducers));
}

TEST_CASE("claim 6: without a majority of the voters nothing is called", "[round]") {
    Bench bench{3};
    bench.add(11, 0);
    bench.lose(2);
    bench.lose(3);
    bench.hear(bench.end(11), 500);
    for (int second = 0; second < 5; ++second) bench.advance(1s);
    CHECK(bench.said<wire::Call>().empty());
    bench.hear(bench.introduce(2), 0);
    bench.election.count_again();
    bench.advance(1s);
    CHECK(bench.said<wire::Call>().size() == 1);
}

TEST_CASE("a peer that is called and does not join in time is left out, and not called again",
          "[round]") {
    Bench bench;
    const PeerKey present = bench.add(11, 96);
    const PeerKey late = bench.add(12, 0);
    bench.advance(1s);
    REQUIRE(bench.said<wire::Call>().size() == 1);
    bench.join(bench.self(), 8);
    bench.join(present, 96);
    CHECK(bench.said<wire::Plan>().empty());
    bench.advance(bench.config.rules.join_timeout);
    REQUIRE(bench.said<wire::Plan>().size() == 1);
    CHECK(members_of(bench.last_plan) == sorted({bench.self(), present}));
    bench.join(late, 8);
    CHECK(bench.said<wire::Plan>().size() == 1);
    bench.lose(11);  // without samples the round is off, and the next call is without the late one
    bench.hear(bench.introduce(11), 96);
    bench.coordinator.on_report(bench.now, bench.self(), bench.step(), Samples{96}, 0);
    bench.out = {};
    for (int second = 0; second < 3; ++second) bench.advance(1s);
    for (const auto& call : bench.sent<wire::Call>()) {
        CHECK(std::ranges::count(call.to, late) == 0);
    }
}

TEST_CASE("a peer that is lost before it joins is not in the plan", "[round]") {
    Bench bench;
    const PeerKey one = bench.add(11, 96);
    bench.add(12, 0);
    bench.advance(1s);
    bench.join(bench.self(), 8);
    bench.join(one, 96);
    bench.lose(12);
    bench.advance();
    REQUIRE(bench.said<wire::Plan>().size() == 1);
    CHECK(members_of(bench.last_plan) == sorted({bench.self(), one}));
}

// --- samples --------------------------------------------------------------------

TEST_CASE("a join over the allowance of its device is refused, and its user not called again",
          "[round]") {
    Bench bench;
    const PeerKey honest = bench.add(11, 96, {.max_samples_per_second = 100});
    const PeerKey liar = bench.add(12, 0, {.max_samples_per_second = 100, .user = 5});
    const PeerKey sibling = bench.add(13, 0, {.max_samples_per_second = 100, .user = 5});
    bench.advance(1s);
    bench.join(bench.self(), 8);
    bench.join(sibling, 0);
    // One second since the head has moved, and one more for clocks that differ.
    bench.join(liar, 201);
    bench.join(honest, 200);
    REQUIRE(bench.said<wire::Plan>().size() == 1);
    CHECK(members_of(bench.last_plan) == sorted({bench.self(), honest, sibling}));
    // Called off; the next call is without both devices of the user.
    bench.advance(bench.config.rules.coordinator_timeout(1ms));
    REQUIRE(bench.said<wire::Cancel>().size() == 1);
    bench.out = {};
    bench.hear(bench.end(11), 96);
    bench.advance();
    bench.advance(1s);
    for (const auto& call : bench.sent<wire::Call>()) {
        CHECK(std::ranges::count(call.to, honest) == 1);
    }
}

TEST_CASE("reports count up to the allowance of their device only", "[round]") {
    Bench bench;
    bench.add(11, 1'000'000, {.max_samples_per_second = 10});
    for (int second = 0; second < 5; ++second) bench.advance(100ms);
    CHECK(bench.said<wire::Call>().empty());
}

// --- plan -------------------------------------------------------------------------

TEST_CASE("a plan holds every member with its samples, and one reducer for each chunk", "[round]") {
    Bench bench{3};
    bench.add(11, 50);
    bench.add(12, 50, {.port = 0});
    bench.advance(1s);
    REQUIRE(bench.sent<wire::Call>().size() == 1);
    const Keys called = bench.sent<wire::Call>().front().to;
    std::map<PeerKey, std::uint64_t> samples;
    for (const PeerKey& peer : called) samples[peer] = 10 + samples.size();
    for (const PeerKey& peer : called) {
        CHECK(bench.said<wire::Plan>().empty());
        bench.join(peer, samples.at(peer));
    }
    const auto plans = bench.sent<wire::Plan>();
    REQUIRE(plans.size() == 1);
    const wire::Plan& plan = bench.last_plan;
    CHECK(plan.term == bench.term());
    CHECK(plan.attempt == 1);
    CHECK(plan.elements == bench.config.rules.elements);
    CHECK(plan.scalars == bench.config.scalars_of(bench.step()));
    CHECK(members_of(plan) == sorted(called));
    for (const wire::PlanMember& member : plan.members) {
        CHECK(member.samples == Samples{samples.at(member.peer)});
    }
    const Keys reducers = reducers_of(plan);
    CHECK(std::ranges::count(reducers, key_of(12)) == 0);
    // The voters are told, too: each of them may have to take over.
    for (const std::uint8_t n : Numbers{1, 2, 3, 11, 12}) {
        CHECK(std::ranges::count(plans.front().to, key_of(n)) == 1);
    }
}

TEST_CASE("a round without samples, or that no member can reduce, is called off", "[round]") {
    Bench bench;
    const PeerKey one = bench.add(11, 96);
    bench.advance(1s);
    bench.join(bench.self(), 0);
    bench.join(one, 0);
    CHECK(bench.said<wire::Plan>().empty());
    REQUIRE(bench.sent<wire::Cancel>().size() == 1);
    CHECK(sorted(bench.sent<wire::Cancel>().front().to) == sorted({bench.self(), one}));
}

TEST_CASE("a cancelled round is called again after a heartbeat", "[round]") {
    Bench bench;
    bench.add(11, 96);
    bench.plan(96);
    bench.advance(bench.config.rules.coordinator_timeout(1ms));  // no member is ready
    REQUIRE(bench.said<wire::Cancel>().size() == 1);
    bench.out = {};
    bench.hear(bench.end(11), 96);  // it holds its contribution
    bench.advance(bench.config.rules.heartbeat - 1ms);
    CHECK(bench.said<wire::Call>().empty());
    bench.advance(1ms);
    REQUIRE(bench.sent<wire::Call>().size() == 1);
    CHECK(bench.sent<wire::Call>().front().step == bench.step());
}

// --- amend ------------------------------------------------------------------------

TEST_CASE("a member that is lost before Ready is amended out of every chunk", "[round]") {
    for (const std::uint8_t lost : Numbers{11, 12, 13}) {
        Planned round;
        REQUIRE(members_of(round.first).size() == 4);
        const Keys before = reducers_of(round.first);
        REQUIRE(std::ranges::count(before, key_of(lost)) > 0);
        round.lose(lost);
        round.advance();
        const auto amended = round.amended();
        REQUIRE(amended);
        CHECK(amended->term == round.first.term);
        CHECK(amended->attempt == round.first.attempt + 1);
        CHECK(amended->chunk_elements == round.first.chunk_elements);
        Keys rest = members_of(round.first);
        std::erase(rest, key_of(lost));
        CHECK(members_of(*amended) == rest);
        for (const wire::PlanMember& member : amended->members) {
            CHECK(member.samples == Samples{30});
        }
        // Its chunks move; those of the others stay, so what has arrived stays.
        const Keys after = reducers_of(*amended);
        REQUIRE(after.size() == before.size());
        for (std::size_t chunk = 0; chunk < after.size(); ++chunk) {
            CHECK(after[chunk] != key_of(lost));
            if (before[chunk] != key_of(lost)) CHECK(after[chunk] == before[chunk]);
        }
        for (const PeerKey& peer : rest) {
            CHECK(std::ranges::count(round.sent<wire::Plan>().front().to, peer) == 1);
        }
    }
}

TEST_CASE("members that are lost one after the other are amended out in rising attempts",
          "[round]") {
    Planned round;
    std::uint32_t attempt = round.first.attempt;
    std::size_t members = round.first.members.size();
    for (const std::uint8_t lost : Numbers{12, 11, 13}) {
        round.lose(lost);
        round.out = {};
        round.advance();
        const auto amended = round.amended();
        REQUIRE(amended);
        CHECK(amended->attempt == ++attempt);
        CHECK(amended->members.size() == --members);
        CHECK(std::ranges::count(members_of(*amended), key_of(lost)) == 0);
    }
    // Alone with its own samples it goes on to the end.
    round.be_ready(round.self());
    REQUIRE(round.said<wire::Propose>().size() == 1);
    CHECK(round.said<wire::Propose>().front().attempt == attempt);
}

TEST_CASE("what was said of an earlier attempt counts for nothing", "[round]") {
    Planned round;
    for (const std::uint8_t n : Numbers{1, 11}) round.be_ready(key_of(n));
    round.lose(13);
    round.advance();
    REQUIRE(round.amended());
    for (const std::uint8_t n : Numbers{1, 11, 12}) {
        round.coordinator.on_ready(
            round.now, key_of(n), round.step(),
            {.term = round.term(), .attempt = round.first.attempt, .average = {}});
    }
    round.advance();
    CHECK(round.said<wire::Propose>().empty());
    for (const std::uint8_t n : Numbers{1, 11, 12}) round.be_ready(key_of(n));
    CHECK(round.said<wire::Propose>().size() == 1);
}

TEST_CASE("a member that reduces nothing and has sent all of its pieces stays in the sum",
          "[round]") {
    Bench bench;
    bench.add(11, 0);
    const PeerKey outbound = bench.add(12, 0, {.port = 0});
    const wire::Plan plan = bench.plan(48);
    for (const PeerKey& peer : members_of(plan)) {
        bench.coordinator.on_reduced(peer, bench.step(),
                                     {.term = bench.term(), .attempt = plan.attempt});
    }
    bench.lose(12);
    bench.advance();
    CHECK(bench.said<wire::Plan>().empty());
    bench.be_ready(bench.self());
    bench.be_ready(key_of(11));
    REQUIRE(bench.said<wire::Propose>().size() == 1);
    const auto decision = bench.accept(1, bench.said<wire::Propose>().front().digest);
    REQUIRE(decision);
    const auto& lines = decision->record.members;
    const auto line = std::ranges::find(lines, outbound, &CommitLine::peer);
    REQUIRE(line != lines.end());
    CHECK(line->samples == Samples{48});
}

// --- decide -----------------------------------------------------------------------

TEST_CASE("claim 1: a step is decided by more than half of the voters and no others", "[round]") {
    Planned round{3};
    for (const PeerKey& peer : members_of(round.first)) round.be_ready(peer);
    const auto proposals = round.sent<wire::Propose>();
    REQUIRE(proposals.size() == 1);
    CHECK(sorted(proposals.front().to) == sorted({key_of(1), key_of(2), key_of(3)}));
    const Digest record = round.said<wire::Propose>().front().digest;
    CHECK_FALSE(round.accept(1, record));
    CHECK_FALSE(round.accept(1, record));   // counts once
    CHECK_FALSE(round.accept(11, record));  // a member that does not vote
    CHECK_FALSE(round.accept(2, Digest{}));
    CHECK_FALSE(round.accept(key_of(2), record, Signature{}));
    const auto decision = round.accept(3, record);
    REQUIRE(decision);
    CHECK(digest_of(decision->record) == record);
    CHECK(decision->certificate.votes.size() == 2);
    CHECK(membership::is_certified(round.config.run, round.voter.head(), decision->record,
                                   decision->certificate));
    REQUIRE(decision->record.members.size() == round.first.members.size());
    for (std::size_t k = 0; k < decision->record.members.size(); ++k) {
        CHECK(decision->record.members[k].peer == round.first.members[k].peer);
        CHECK(decision->record.members[k].samples == round.first.members[k].samples);
    }
}

TEST_CASE("nothing is amended once it is proposed", "[round]") {
    Planned round{3};
    for (const PeerKey& peer : members_of(round.first)) round.be_ready(peer);
    REQUIRE(round.said<wire::Propose>().size() == 1);
    const Digest record = round.said<wire::Propose>().front().digest;
    round.out = {};
    round.lose(12);
    for (int second = 0; second < 3; ++second) round.advance(1s);
    CHECK(round.said<wire::Plan>().empty());
    CHECK(round.said<wire::Cancel>().empty());
    // Voters that do not answer are asked again, for the same record.
    REQUIRE_FALSE(round.said<wire::Propose>().empty());
    for (const wire::Propose& again : round.said<wire::Propose>()) CHECK(again.digest == record);
}

TEST_CASE("claim 2: what a majority has accepted in a lower term is proposed before anything else",
          "[round]") {
    Planned round{3};
    // A predecessor's record, which voter 2 has accepted, and which this voter is told with the
    // promise for its next term.
    CommitRecord accepted{.generation = 1,
                          .step = round.step(),
                          .previous_record = round.voter.head().record,
                          .previous_state = {},
                          .members = {{.peer = key_of(50),
                                       .samples = Samples{7},
                                       .reduced = round.config.rules.elements}},
                          .average = {},
                          .scalars = {}};
    round.election.step_down(round.out, "a test");
    round.out = {};
    for (int k = 0; k < 100 && round.said<wire::Elect>().empty(); ++k) round.advance(100ms);
    REQUIRE_FALSE(round.said<wire::Elect>().empty());
    const Term term = round.said<wire::Elect>().back().term;
    round.election.on_promise(key_of(2), round.step(),
                              {.term = term,
                               .granted = true,
                               .promised = term,
                               .accepted_in = {.number = 1, .coordinator = key_of(3)},
                               .accepted = accepted},
                              round.out);
    REQUIRE(round.election.is_leading());
    round.out = {};
    round.coordinator.on_report(round.now, round.self(), round.step(), Samples{500}, 0);
    round.advance(1ms);
    CHECK(round.said<wire::Call>().empty());
    REQUIRE(round.said<wire::Propose>().size() == 1);
    const wire::Propose proposal = round.said<wire::Propose>().front();
    CHECK(proposal.term == term);
    CHECK(proposal.record == accepted);
    CHECK_FALSE(round.accept(1, proposal.digest));
    const auto decision = round.accept(3, proposal.digest);
    REQUIRE(decision);
    CHECK(decision->record == accepted);
    // Its members may not know the plan, so the commit carries the record.
    CHECK(round.coordinator.commit_of(*decision).record == accepted);
}

TEST_CASE("a coordinator that is displaced amends and proposes nothing more", "[round]") {
    Planned round{3};
    round.election.on_coordinator({.number = round.term().number + 1, .coordinator = key_of(2)},
                                  round.out);
    round.out = {};
    round.lose(12);
    round.advance();
    for (const PeerKey& peer : members_of(round.first)) {
        round.coordinator.on_ready(
            round.now, peer, round.step(),
            {.term = round.first.term, .attempt = round.first.attempt, .average = {}});
    }
    round.advance();
    CHECK(round.said<wire::Plan>().empty());
    CHECK(round.said<wire::Propose>().empty());
}
