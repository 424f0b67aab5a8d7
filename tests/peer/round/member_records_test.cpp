// Which records a voter votes for, and which record a Commit is about.
#include <catch2/catch.hpp>
#include <utility>

#include "tests/peer/round/member_bench.hpp"

using namespace dedloc;
using namespace dedloc::round;

namespace {

struct VoterBench : MemberBench {
    void propose(const wire::Propose& propose, bool has_others = true) {
        member.on_propose({}, step(), propose, has_others, out);
    }
};

}  // namespace

TEST_CASE("a voter votes for the record of its plan and its own state", "[averaging]") {
    VoterBench bench;
    const wire::Plan plan = bench.plan(1, false);
    bench.follow(plan);
    const Digest average = bench.ready().value();
    wire::Propose propose = bench.propose_of(plan, average);
    const auto votes = [&] {
        bench.out.messages.clear();
        bench.propose(propose);
        return bench.said<wire::Accept>();
    };
    SECTION("it signs the record") {
        const auto accepts = votes();
        REQUIRE(accepts.size() == 1);
        CHECK(accepts[0].digest == propose.digest);
        CHECK(verify(bench.key.public_key(),
                     vote_bytes(bench.config.run, plan.term, propose.digest),
                     accepts[0].signature));
    }
    SECTION("not for another attempt") {
        ++propose.attempt;
        CHECK(votes().empty());
    }
    SECTION("not for the plan of another term") {
        ++propose.term.number;
        CHECK(votes().empty());
    }
    SECTION("not with a digest that does not follow from the plan") {
        propose.digest.bytes[0] ^= std::byte{1};
        CHECK(votes().empty());
    }
    SECTION("not on another state") {
        propose.previous_state.bytes[0] ^= std::byte{1};
        propose.digest =
            digest_of(record_of(plan, average, propose.previous_state, bench.voter.head()));
        CHECK(votes().empty());
    }
    SECTION("not on another step") {
        bench.out.messages.clear();
        bench.member.on_propose({}, bench.step().next(), propose, true, bench.out);
        CHECK(bench.out.messages.empty());
    }
    SECTION("a record that may be decided already is signed with any state") {
        propose.record = record_of(plan, average, Digest{{std::byte{9}}}, bench.voter.head());
        propose.digest = digest_of(*propose.record);
        propose.attempt = 0;
        ++propose.term.number;
        CHECK(votes().empty());
        bench.propose(propose, false);
        CHECK(bench.said<wire::Accept>().size() == 1);
    }
    SECTION("not with a record that is said to be of an earlier term, after a plan of this one") {
        propose.record = record_of(plan, average, {}, bench.voter.head());
        propose.attempt = 0;
        CHECK(votes().empty());
    }
    SECTION("not while it may not vote") {
        bench.voter.stop_voting();
        CHECK(votes().empty());
    }
}

TEST_CASE("a voter votes for no average that it does not hold", "[averaging]") {
    VoterBench bench;
    const wire::Plan plan = bench.plan(1, false);
    const auto votes = [&](const wire::Propose& propose, bool has_others = true) {
        bench.out.messages.clear();
        bench.propose(propose, has_others);
        return bench.said<wire::Accept>().size();
    };
    const Digest forged{{std::byte{9}}};
    wire::Propose earlier = bench.propose_of(plan, forged);
    earlier.record = record_of(plan, forged, {}, bench.voter.head());
    earlier.attempt = 0;
    earlier.term.number = 2;

    SECTION("of its plan") {
        bench.follow(plan);
        const Digest average = bench.ready().value();
        CHECK(votes(bench.propose_of(plan, forged)) == 0);
        CHECK(votes(bench.propose_of(plan, forged), false) == 0);
        REQUIRE(bench.member.refusal());
        CHECK(bench.member.refusal()->is_other);
        CHECK(bench.member.refusal()->term == plan.term);
        CHECK(votes(bench.propose_of(plan, average)) == 1);
        CHECK_FALSE(bench.member.refusal());
    }
    SECTION("before it has the average") {
        const wire::Plan with_other = bench.plan(1, true);
        bench.follow(with_other);
        CHECK(votes(bench.propose_of(with_other, forged)) == 0);
        CHECK_FALSE(bench.member.refusal()->is_other);
    }
    SECTION("of an earlier term, unless no majority is here without its coordinator") {
        CHECK(votes(earlier) == 0);
        CHECK(votes(earlier, false) == 1);
        CHECK(votes(earlier) == 1);  // it has voted for it now
    }
}

TEST_CASE("a coordinator gets no vote for having reduced more than its plan says", "[averaging]") {
    VoterBench bench;
    wire::Plan plan = bench.plan(1, true);
    bench.follow(plan);
    bench.receive_from_other();
    const Digest average = bench.ready().value();
    const CommitRecord honest = record_of(plan, average, {}, bench.voter.head());
    REQUIRE(reduced_in(honest) == kElements);
    const auto votes_for = [&](CommitRecord record, std::uint32_t attempt) {
        bench.out.messages.clear();
        wire::Propose propose = bench.propose_of(plan, average);
        propose.attempt = attempt;
        propose.digest = digest_of(record);
        propose.record = std::move(record);
        bench.propose(propose);
        return bench.said<wire::Accept>().size();
    };
    CommitRecord lie = honest;
    std::swap(lie.members[0].reduced, lie.members[1].reduced);
    SECTION("in place of another member") {
        CHECK(votes_for(lie, plan.attempt) == 0);
        CHECK(votes_for(honest, plan.attempt) == 1);
    }
    SECTION("as a record of an earlier term") {
        CHECK(votes_for(lie, 0) == 0);
    }
    SECTION("nor by a voter that does not have the plan, if the parts are not the vector") {
        lie.members[0].reduced += 1;
        CHECK(votes_for(lie, plan.attempt + 1) == 0);
        lie.members[0].reduced -= 2;
        CHECK(votes_for(lie, plan.attempt + 1) == 0);
    }
}

TEST_CASE("the record of a commit without one follows from its plan", "[averaging]") {
    VoterBench bench;
    const wire::Plan plan = bench.plan(1, false);
    const Digest average{{std::byte{4}}};
    const CommitRecord record = record_of(plan, average, {}, bench.voter.head());
    CHECK_FALSE(bench.member.record_of(bench.commit_of(plan, average)));  // no plan is here
    bench.follow(plan);
    CHECK(bench.member.record_of(bench.commit_of(plan, average)) == record);
    const auto refused = [&](auto change) {
        wire::Commit commit = bench.commit_of(plan, average);
        change(commit);
        return !bench.member.record_of(commit);
    };
    CHECK(refused([](auto& commit) { commit.digest.bytes[0] ^= std::byte{1}; }));
    CHECK(refused([](auto& commit) { commit.average.bytes[0] ^= std::byte{1}; }));
    CHECK(refused([](auto& commit) { commit.previous_state.bytes[0] ^= std::byte{1}; }));
    CHECK(refused([](auto& commit) { ++commit.attempt; }));
    CHECK(refused([](auto& commit) { ++commit.certificate.term.number; }));
    CHECK(refused([&](auto& commit) {
        commit.record = record;
        commit.record->members[0].samples = Samples{3};
    }));
    CHECK(refused([&](auto& commit) {
        commit.record = record;
        commit.record->members[0].reduced -= 1;
    }));
    // A commit with its record needs no plan.
    wire::Commit whole = bench.commit_of(plan, average);
    whole.record = record;
    whole.attempt = 99;
    CHECK(bench.member.record_of(whole) == record);
}
