// Election at a single voter, with hand-made messages of its neighbours.
#include "peer/membership/election.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <vector>

#include "tests/peer/membership/election_bench.hpp"

using namespace dedloc;
using namespace dedloc::membership;

namespace {}  // namespace

TEST_CASE("the only voter leads at once", "[membership]") {
    const auto keys = voter_keys(1);
    ElectionBench bench{keys, keys[0]};
    bench.advance();
    CHECK(bench.leads());
    CHECK(bench.election.term() == term_of(1, keys[0]));
    CHECK(bench.voter.promised() == term_of(1, keys[0]));
    CHECK(bench.election.has_live_leader());
    CHECK(bench.election.has_majority_here());
    for (const OutgoingMessage& message : bench.out.messages) CHECK(message.to.empty());
    // It leads for all later steps.
    for (int step = 0; step < 3; ++step) {
        bench.voter.append(bench.record(1));
        bench.election.head_changed();
        bench.advance(10min);
        CHECK(bench.leads());
        CHECK(bench.election.term() == term_of(1, keys[0]));
    }
}

TEST_CASE("a peer that cannot lead does not stand", "[membership]") {
    const auto keys = voter_keys(1);
    const auto leads = [&](ElectionBench bench, bool may_lead) {
        for (int k = 0; k < 100; ++k) bench.advance(200ms, may_lead);
        return bench.leads();
    };
    CHECK(leads(ElectionBench{keys, keys[0]}, true));
    CHECK_FALSE(leads(ElectionBench{keys, keys[0]}, false));
    CHECK_FALSE(leads(ElectionBench{keys, keys[0], {.port = 0}}, true));
    CHECK_FALSE(leads(ElectionBench{keys, keys[0], {.remembers = false}}, true));
    CHECK_FALSE(leads(ElectionBench{keys, test_key(50)}, true));
}

TEST_CASE("no voter stands without a majority that is able to vote", "[membership]") {
    const auto keys = voter_keys(3);
    ElectionBench bench{keys, keys[0]};
    CHECK_FALSE(bench.stands_within(20s));
    CHECK_FALSE(bench.election.has_majority_here());
    // A peer counts only after a heartbeat that says that it may vote.
    OtherEnd& other = bench.introduce(keys[1]);
    CHECK_FALSE(bench.stands_within(20s));
    bench.hear(other, {}, false);
    CHECK_FALSE(bench.stands_within(20s));
    // A member that is no voter does not count.
    bench.hear(bench.introduce(test_key(50)));
    CHECK_FALSE(bench.stands_within(20s));
    bench.hear(other);
    CHECK(bench.stands_within(20s));
}

TEST_CASE("a candidate leads with the promises of a majority, its own the last", "[membership]") {
    Trio trio;
    ElectionBench& bench = trio.bench;
    const Term term = trio.stand();
    CHECK_FALSE(bench.leads());
    CHECK(bench.voter.promised() == Term{});
    bench.election.on_promise(trio.one->peer(), bench.head().step, bench.promise(term), bench.out);
    CHECK(bench.leads());
    CHECK(bench.voter.promised() == term);
    CHECK(bench.election.term() == term);
}

TEST_CASE("only promises of voters, of this term and granted, count", "[membership]") {
    Trio trio;
    ElectionBench& bench = trio.bench;
    const Term term = trio.stand();
    const StepIndex step = bench.head().step;
    Term other = term;
    ++other.number;
    auto refused = bench.promise(term);
    refused.granted = false;
    bench.election.on_promise(trio.one->peer(), step, bench.promise(other), bench.out);
    bench.election.on_promise(trio.one->peer(), step, refused, bench.out);
    bench.election.on_promise(test_key(50).public_key(), step, bench.promise(term), bench.out);
    CHECK_FALSE(bench.leads());
    // A voter that is ahead may have accepted a record that the candidate does not know.
    bench.election.on_promise(trio.one->peer(), step.next(), bench.promise(term), bench.out);
    CHECK_FALSE(bench.leads());
    SECTION("a voter that is behind has accepted nothing for this round") {
        auto behind = bench.promise(term);
        behind.accepted = bench.record(5);
        behind.accepted_in = term_of(1, trio.keys[2]);
        bench.election.on_promise(trio.two->peer(), StepIndex{2}, behind, bench.out);
        CHECK(bench.leads());
        CHECK_FALSE(bench.election.inherited());
    }
    SECTION("a head that moves ends the candidacy") {
        bench.voter.append(bench.record(1));
        bench.election.head_changed();
        bench.election.on_promise(trio.two->peer(), step, bench.promise(term), bench.out);
        CHECK_FALSE(bench.leads());
    }
}

TEST_CASE("a leader inherits the record accepted in the highest term", "[membership]") {
    const auto keys = voter_keys(5);
    ElectionBench bench{keys, keys[0]};
    for (std::size_t k = 1; k < 5; ++k) bench.hear(bench.introduce(keys[k]));
    REQUIRE(bench.stands_within(10s));
    const Term term = bench.said<wire::Elect>().front().term;
    const auto promise_with = [&](std::size_t k, std::uint64_t number, const CommitRecord& record) {
        auto promise = bench.promise(term);
        promise.accepted_in = term_of(number, keys[k]);
        promise.accepted = record;
        bench.election.on_promise(keys[k].public_key(), bench.head().step, promise, bench.out);
    };
    SECTION("its promise arrives first") {
        promise_with(1, 8, bench.record(8));
        promise_with(2, 6, bench.record(6));
    }
    SECTION("its promise arrives last") {
        promise_with(1, 6, bench.record(6));
        promise_with(2, 8, bench.record(8));
    }
    SECTION("with equal term numbers the higher key decides") {
        promise_with(1, 8, bench.record(6));
        promise_with(2, 8, bench.record(8));
    }
    SECTION("a record that does not follow the head is ignored") {
        CommitRecord foreign = bench.record(9);
        foreign.previous_record.bytes[0] ^= std::byte{1};
        promise_with(1, 9, foreign);
        promise_with(2, 8, bench.record(8));
    }
    REQUIRE(bench.leads());
    CHECK(bench.election.inherited() == bench.record(8));
    bench.voter.append(bench.record(8));
    bench.election.head_changed();
    CHECK_FALSE(bench.election.inherited());
    CHECK(bench.leads());
}

TEST_CASE("a candidate inherits the record of its own vote", "[membership]") {
    Trio trio;
    ElectionBench& bench = trio.bench;
    const CommitRecord record = bench.record(4);
    REQUIRE(bench.voter.accept(term_of(2, trio.keys[1]), record));
    const Term term = trio.lead();
    CHECK(term.number == 3);
    CHECK(bench.election.inherited() == record);
}

TEST_CASE("a voter refuses candidates while it knows a live coordinator", "[membership]") {
    Trio trio;
    ElectionBench& bench = trio.bench;
    const Term led = term_of(4, trio.keys[1]);
    bench.hear(*trio.one, led);
    const auto ask = [&](const KeyPair& candidate, std::uint64_t number, StepIndex step) {
        bench.out = {};
        bench.election.on_elect(bench.now, candidate.public_key(), step,
                                {.term = term_of(number, candidate)}, bench.out);
        return bench.said<wire::Promise>();
    };
    const StepIndex step = bench.head().step;
    auto answer = ask(trio.keys[2], 9, step);
    REQUIRE(answer.size() == 1);
    CHECK_FALSE(answer[0].granted);
    CHECK(bench.voter.promised() == Term{});
    CHECK_FALSE(bench.stands_within(20s));
    // The coordinator itself may ask again.
    CHECK(ask(trio.keys[1], 5, step).at(0).granted);
    SECTION("until the coordinator is lost") {
        bench.close(*trio.one);
        CHECK(ask(trio.keys[2], 9, step).at(0).granted);
    }
    SECTION("until the coordinator says that it does not lead any more") {
        bench.hear(*trio.one);
        CHECK(ask(trio.keys[2], 9, step).at(0).granted);
        CHECK_FALSE(ask(trio.keys[1], 8, step).at(0).granted);
    }
    SECTION("peers that do not vote, and terms of another candidate, get no answer") {
        bench.close(*trio.one);
        CHECK(ask(test_key(50), 20, step).empty());
        bench.out = {};
        bench.election.on_elect(bench.now, trio.two->peer(), step,
                                {.term = term_of(20, trio.keys[1])}, bench.out);
        CHECK(bench.out.messages.empty());
    }
}

TEST_CASE("a candidate behind the head of a voter is refused", "[membership]") {
    Trio trio;
    ElectionBench& bench = trio.bench;
    const StepIndex old = bench.head().step;
    bench.voter.append(bench.record(1));
    const auto ask = [&](StepIndex step) {
        bench.out = {};
        bench.election.on_elect(bench.now, trio.one->peer(), step,
                                {.term = term_of(5, trio.keys[1])}, bench.out);
        REQUIRE(bench.out.messages.size() == 1);
        CHECK(bench.out.messages[0].step == bench.head().step);
        return bench.said<wire::Promise>().at(0).granted;
    };
    CHECK_FALSE(ask(old));
    CHECK(bench.voter.promised() == Term{});
    CHECK(ask(bench.head().step));
    CHECK(ask(bench.head().step.next()));
}

TEST_CASE("a voter that may not vote does not answer candidates", "[membership]") {
    Trio trio;
    trio.bench.voter.stop_voting();
    trio.bench.election.on_elect(trio.bench.now, trio.one->peer(), trio.bench.head().step,
                                 {.term = term_of(5, trio.keys[1])}, trio.bench.out);
    CHECK(trio.bench.out.messages.empty());
    CHECK_FALSE(trio.bench.stands_within(20s));
}

TEST_CASE("a voter that has promised gives the candidate time to lead", "[membership]") {
    Trio trio{1};
    ElectionBench& bench = trio.bench;
    bench.advance();
    bench.election.on_elect(bench.now, trio.keys[2].public_key(), bench.head().step,
                            {.term = term_of(5, trio.keys[2])}, bench.out);
    CHECK(bench.said<wire::Promise>().at(0).granted);
    CHECK_FALSE(bench.stands_within(bench.config.rules.election_pause - 50ms));
    const Term term = trio.stand();
    CHECK(term.number == 6);
}

TEST_CASE("a leader steps down when a voter has promised a higher term", "[membership]") {
    Trio trio;
    ElectionBench& bench = trio.bench;
    const Term term = trio.lead();
    wire::Promise answer{.term = term, .granted = false, .promised = term};
    const auto tell = [&](const PeerKey& from) {
        bench.election.on_promise(from, bench.head().step, answer, bench.out);
        return bench.leads();
    };
    CHECK(tell(trio.one->peer()));
    answer.promised = term_of(term.number + 1, trio.keys[2]);
    CHECK(tell(test_key(50).public_key()));
    answer.term.number += 7;
    CHECK(tell(trio.one->peer()));  // an answer to an older candidacy
    answer.term = term;
    CHECK_FALSE(tell(trio.one->peer()));
    CHECK_FALSE(bench.election.has_live_leader());
    CHECK(trio.stand().number == term.number + 2);
}

TEST_CASE("a leader steps down after two failure timeouts without a majority", "[membership]") {
    Trio trio;
    ElectionBench& bench = trio.bench;
    const Duration failure_timeout = bench.config.rules.failure_timeout;
    trio.lead();
    bench.close(*trio.one);
    bench.advance(1min);
    CHECK(bench.leads());  // one other voter is enough
    bench.close(*trio.two);
    bench.advance(2 * failure_timeout - 200ms);
    CHECK(bench.leads());
    CHECK(bench.election.next_deadline() <= bench.now + 200ms);
    SECTION("the majority stays lost") {
        bench.advance(200ms);
        CHECK_FALSE(bench.leads());
        CHECK_FALSE(bench.stands_within(20s));
    }
    SECTION("a voter that comes back in time keeps the leader") {
        bench.hear(bench.introduce(trio.keys[2]));
        bench.election.count_again();
        bench.advance(200ms);
        bench.advance(20s);
        CHECK(bench.leads());
    }
}

TEST_CASE("a leader steps down without a state", "[membership]") {
    Trio trio;
    trio.lead();
    trio.bench.advance(200ms, false);
    CHECK_FALSE(trio.bench.leads());
}

TEST_CASE("a voter tells a coordinator that it has promised a higher term", "[membership]") {
    Trio trio;
    ElectionBench& bench = trio.bench;
    (void)bench.voter.promise(term_of(6, trio.keys[2]));
    bench.out = {};
    bench.election.on_propose(trio.one->peer(), term_of(6, trio.keys[2]), bench.out);
    CHECK(bench.out.messages.empty());
    bench.election.on_propose(trio.one->peer(), term_of(5, trio.keys[1]), bench.out);
    const auto told = bench.said<wire::Promise>();
    REQUIRE(told.size() == 1);
    CHECK_FALSE(told[0].granted);
    CHECK(told[0].term == term_of(5, trio.keys[1]));
    CHECK(told[0].promised == term_of(6, trio.keys[2]));
}

TEST_CASE("members follow the voter with the highest term, and never another member",
          "[membership]") {
    const auto keys = voter_keys(3);
    ElectionBench bench{keys, test_key(50)};
    OtherEnd& low = bench.introduce(keys[0]);
    OtherEnd& high = bench.introduce(keys[1]);
    OtherEnd& member = bench.introduce(test_key(60));
    bench.hear(member, term_of(90, member.key));
    CHECK(bench.election.term() == Term{});
    bench.hear(low, term_of(3, low.key));
    CHECK(bench.election.term() == term_of(3, low.key));
    CHECK(bench.election.has_live_leader());
    bench.hear(high, term_of(4, high.key));
    CHECK(bench.election.term() == term_of(4, high.key));
    bench.hear(member, term_of(91, member.key));
    bench.hear(low, term_of(3, low.key));
    CHECK(bench.election.term() == term_of(4, high.key));
    CHECK(bench.election.is_coordinator(high.peer()));
    // A member's claim about the coordinator does not count.
    bench.hear(member, term_of(99, low.key));
    CHECK(bench.election.term() == term_of(4, high.key));
    // The lower term is followed again once the higher coordinator is lost.
    bench.close(high);
    CHECK_FALSE(bench.election.has_live_leader());
    bench.hear(low, term_of(3, low.key));
    CHECK(bench.election.term() == term_of(3, low.key));
    CHECK(bench.election.has_live_leader());
    bench.election.reset();
    CHECK(bench.election.term() == Term{});
}

TEST_CASE("a leader that hears a higher term follows it", "[membership]") {
    Trio trio;
    ElectionBench& bench = trio.bench;
    const Term term = trio.lead();
    bench.hear(*trio.one, term_of(term.number - 1, trio.keys[1]));
    CHECK(bench.leads());
    const Term higher = term_of(term.number + 1, trio.keys[1]);
    bench.hear(*trio.one, higher);
    CHECK_FALSE(bench.leads());
    CHECK(bench.election.term() == higher);
}

// --- candidates ----------------------------------------------------------------

TEST_CASE("voters stand in the order of their keys, the run's backbone first", "[membership]") {
    const auto keys = voter_keys(3);
    const auto pause = RoundRules{}.election_pause;
    // How long the k-th voter waits for those before it.
    const auto waits = [&](std::size_t k, const PeerKey& backbone, bool is_first_linked = true) {
        ElectionBench bench{keys, keys[k], {.backbone = backbone}};
        for (std::size_t other = 0; other < 3; ++other) {
            if (other == k || (other == 0 && !is_first_linked)) continue;
            bench.hear(bench.introduce(keys[other]));
        }
        const TimePoint start = bench.now;
        REQUIRE(bench.stands_within(10s));
        return bench.now - start;
    };
    for (std::size_t k = 0; k < 3; ++k) CHECK(waits(k, {}) == k * pause);
    CHECK(waits(2, {}, false) == pause);  // a voter that is not linked is not waited for
    const PeerKey backbone = keys[2].public_key();
    CHECK(waits(2, backbone) == 0s);
    CHECK(waits(0, backbone) == pause);
    CHECK(waits(1, backbone) == 2 * pause);
}

TEST_CASE("a candidate asks the other voters and no member, and stands again if they are silent",
          "[membership]") {
    Trio trio;
    ElectionBench& bench = trio.bench;
    bench.hear(bench.introduce(test_key(50)));
    REQUIRE(bench.stands_within(10s));
    const OutgoingMessage asked = bench.out.messages.front();
    CHECK(asked.to == std::vector{trio.one->peer(), trio.two->peer()});
    CHECK(asked.step == bench.head().step);
    const Term first = bench.said<wire::Elect>().front().term;
    CHECK(first == term_of(1, trio.keys[0]));
    bench.out = {};
    const TimePoint start = bench.now;
    const Term second = trio.stand();
    const Duration pause = bench.config.rules.election_pause;
    CHECK(second == term_of(2, trio.keys[0]));
    CHECK((bench.now - start >= pause && bench.now - start <= 2 * pause + 50ms));
    // The promise of the term before comes too late.
    bench.election.on_promise(trio.one->peer(), bench.head().step, bench.promise(first), bench.out);
    CHECK_FALSE(bench.leads());
}

TEST_CASE("a candidate gives up for a coordinator of a higher term", "[membership]") {
    Trio trio;
    ElectionBench& bench = trio.bench;
    const Term term = trio.stand();
    const bool is_higher = GENERATE(true, false);
    const Term led = term_of(is_higher ? term.number + 1 : 0, trio.keys[2]);
    bench.hear(*trio.two, led);
    CHECK(bench.election.term() == led);
    bench.election.on_promise(trio.one->peer(), bench.head().step, bench.promise(term), bench.out);
    CHECK(bench.leads() == !is_higher);
}

TEST_CASE("a leader refuses candidates, and goes on leading", "[membership]") {
    Trio trio;
    ElectionBench& bench = trio.bench;
    const Term term = trio.lead();
    bench.election.on_elect(bench.now, trio.one->peer(), bench.head().step,
                            {.term = term_of(term.number + 5, trio.keys[1])}, bench.out);
    const auto answers = bench.said<wire::Promise>();
    REQUIRE(answers.size() == 1);
    CHECK_FALSE(answers[0].granted);
    CHECK(bench.voter.promised() == term);
    bench.advance(200ms);
    CHECK(bench.leads());
}

TEST_CASE("claim 3: a voter that does not remember its votes answers no proposal", "[membership]") {
    Trio trio;
    ElectionBench& bench = trio.bench;
    (void)bench.voter.promise(term_of(6, trio.keys[2]));
    bench.voter.stop_voting();
    bench.election.on_propose(trio.one->peer(), term_of(5, trio.keys[1]), bench.out);
    CHECK(bench.out.messages.empty());
}
