// The numbers of terms: a candidate stands above all that it has heard of, if there is one. Terms
// and promises of a voter that is distrusted do not count.
#include <algorithm>
#include <catch2/catch.hpp>

#include "peer/wire/limits.hpp"
#include "tests/peer/membership/election_bench.hpp"

using namespace dedloc;
using namespace dedloc::membership;

TEST_CASE("claim 2: a candidate stands above every term that it has heard of", "[membership]") {
    Trio trio;
    ElectionBench& bench = trio.bench;
    SECTION("from a voter that refuses") {
        const Term term = trio.stand();
        const wire::Promise refused{
            .term = term, .granted = false, .promised = term_of(40, trio.keys[1])};
        bench.election.on_promise(trio.one->peer(), bench.head().step, refused, bench.out);
    }
    SECTION("from a coordinator that is lost") {
        bench.hear(*trio.one, term_of(40, trio.keys[1]));
        bench.hear(*trio.one);
    }
    SECTION("by its own promise") {
        (void)bench.voter.promise(term_of(40, trio.keys[1]));
    }
    CHECK(trio.stand() == term_of(41, trio.keys[0]));
}

TEST_CASE("claim 2: a candidate that has promised a higher term does not lead", "[membership]") {
    Trio trio;
    ElectionBench& bench = trio.bench;
    const Term term = trio.stand();
    const Term higher = term_of(term.number + 1, trio.keys[1]);
    bench.election.on_elect(bench.now, trio.one->peer(), bench.head().step, {.term = higher},
                            bench.out);
    REQUIRE(bench.voter.promised() == higher);
    for (OtherEnd* end : {trio.one, trio.two}) {
        bench.election.on_promise(end->peer(), bench.head().step, bench.promise(term), bench.out);
    }
    CHECK_FALSE(bench.leads());
}

TEST_CASE("a voter that claims the last term is named, and no candidate goes beyond it",
          "[membership]") {
    Trio trio;
    ElectionBench& bench = trio.bench;
    const std::uint64_t last = wire::kMaxTermNumber;
    const KeyPair* liar = &trio.keys[1];
    SECTION("it refuses a candidate") {
        const Term term = trio.stand();
        const wire::Promise refused{
            .term = term, .granted = false, .promised = term_of(last, trio.keys[2])};
        bench.election.on_promise(trio.one->peer(), bench.head().step, refused, bench.out);
    }
    SECTION("it stands") {
        bench.election.on_elect(bench.now, trio.one->peer(), bench.head().step,
                                {.term = term_of(last, trio.keys[1])}, bench.out);
        REQUIRE(bench.voter.promised().number == last);
    }
    SECTION("it says that it coordinates") {
        liar = &trio.keys[2];
        bench.hear(*trio.two, term_of(last, trio.keys[2]));
        bench.hear(*trio.two);
    }
    CHECK(bench.out.messages.size() <= 1);  // a promise
    REQUIRE(std::ranges::count_if(bench.out.actions, [&](const Action& action) {
                const auto* note = std::get_if<action::Note>(&action);
                return note != nullptr && note->suspect == liar->public_key();
            }) == 1);
    bench.out = {};
    CHECK_FALSE(bench.stands_within(10min));
    CHECK(bench.out.actions.empty());

    // The project dismisses it: terms start again.
    SignedGeneration next = *bench.config.generation;
    next.record.generation = 2;
    std::erase(next.record.voters, liar->public_key());
    next.signature = test_key(99).sign(digest_of(RunId{}, next.record).bytes);
    REQUIRE(bench.voter.begin(next));
    bench.election.reset();
    trio.hear();
    CHECK(trio.stand() == term_of(1, trio.keys[0]));
}

TEST_CASE("a voter does without a coordinator that it distrusts", "[membership]") {
    Trio trio;
    ElectionBench& bench = trio.bench;
    const StepIndex step = bench.head().step;
    bench.hear(*trio.one, term_of(4, trio.keys[1]));
    bench.hear(*trio.two);
    bench.advance();
    REQUIRE(bench.election.has_live_leader());
    bench.election.distrust(bench.now, trio.one->peer());
    const auto ask = [&](std::uint64_t number) {
        bench.out = {};
        bench.election.on_elect(bench.now, trio.one->peer(), step,
                                {.term = term_of(number, trio.keys[1])}, bench.out);
        return bench.said<wire::Promise>().at(0).granted;
    };
    SECTION("it promises it nothing and follows no higher term of it") {
        CHECK_FALSE(bench.election.has_live_leader());
        CHECK_FALSE(ask(9));
        bench.hear(*trio.one, term_of(20, trio.keys[1]));
        CHECK(bench.election.term() == term_of(4, trio.keys[1]));
    }
    SECTION("it stands, and leads with the promise of the other voter") {
        const Term term = trio.stand();
        CHECK(term.number > 4);
        bench.election.on_promise(trio.one->peer(), step, bench.promise(term), bench.out);
        CHECK_FALSE(bench.leads());
        bench.election.on_promise(trio.two->peer(), step, bench.promise(term), bench.out);
        CHECK(bench.leads());
    }
    SECTION("not if there is no majority without it") {
        bench.close(*trio.two);
        CHECK(bench.election.has_live_leader());
        CHECK(ask(9));
    }
    SECTION("not for ever") {
        bench.advance(10min);
        bench.hear(*trio.one, term_of(4, trio.keys[1]));
        bench.hear(*trio.two);
        CHECK(bench.election.has_live_leader());
    }
}

TEST_CASE("a leader that doubts what one voter says it has accepted asks the others",
          "[membership]") {
    Trio trio;
    ElectionBench& bench = trio.bench;
    const StepIndex step = bench.head().step;
    Term term = trio.stand();
    auto promise = bench.promise(term);
    promise.accepted_in = term_of(1, trio.keys[1]);
    promise.accepted = bench.record(8);
    bench.election.on_promise(trio.one->peer(), step, promise, bench.out);
    REQUIRE(bench.leads());
    REQUIRE(bench.election.inherited());
    bench.election.doubt_inherited(bench.now, bench.out);
    CHECK_FALSE(bench.leads());
    term = trio.stand();
    promise.term = promise.promised = term;
    bench.election.on_promise(trio.one->peer(), step, promise, bench.out);
    REQUIRE_FALSE(bench.leads());
    SECTION("if none of them has accepted it, it is not decided") {
        bench.election.on_promise(trio.two->peer(), step, bench.promise(term), bench.out);
        REQUIRE(bench.leads());
        CHECK_FALSE(bench.election.inherited());
    }
    SECTION("if one has, it may be") {
        bench.election.on_promise(trio.two->peer(), step, promise, bench.out);
        REQUIRE(bench.leads());
        CHECK(bench.election.inherited() == bench.record(8));
    }
}
