// The numbers of terms: a candidate stands above all that it has heard of, if there is one.
#include <algorithm>
#include <catch2/catch.hpp>

#include "peer/wire/limits.hpp"
#include "tests/peer/membership/election_bench.hpp"

using namespace dedloc;
using namespace dedloc::membership;

using Bench = ElectionBench;

TEST_CASE("claim 2: a candidate stands above every term that it has heard of", "[membership]") {
    Trio trio;
    Bench& bench = trio.bench;
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
    Bench& bench = trio.bench;
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
    Bench& bench = trio.bench;
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
