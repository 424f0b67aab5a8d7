// Which members a coordinator leaves out when others complain, and which it does not wait for.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/peer/round/coordinator_bench.hpp"

using namespace dedloc;
using namespace dedloc::round;
using Bench = CoordinatorBench;

TEST_CASE("a sender whose pieces a reducer refuses is amended out at once", "[round]") {
    Planned round;
    wire::Stalled refusal;
    refusal.refused = {round.index_of(key_of(12))};
    round.stall(key_of(11), refusal);
    const auto amended = round.amended();
    REQUIRE(amended);
    CHECK(amended->attempt == round.first.attempt + 1);
    CHECK(std::ranges::count(members_of(*amended), key_of(12)) == 0);
    CHECK(amended->members.size() == 3);
}

TEST_CASE("a sender that several reducers miss is out, and one that misses alone loses its part",
          "[round]") {
    Planned round;
    round.advance(round.config.rules.stall_timeout);
    wire::Stalled complaint;
    complaint.senders = {round.index_of(key_of(12))};
    round.stall(key_of(11), complaint);
    SECTION("several") {
        round.stall(key_of(13), complaint);
        round.advance(1s);
        REQUIRE(round.amended());
        CHECK(std::ranges::count(members_of(*round.amended()), key_of(12)) == 0);
        CHECK(std::ranges::count(reducers_of(*round.amended()), key_of(11)) > 0);
    }
    SECTION("one") {
        round.advance(1s);
        REQUIRE(round.amended());
        CHECK(members_of(*round.amended()) == members_of(round.first));
        CHECK(std::ranges::count(reducers_of(*round.amended()), key_of(11)) == 0);
        CHECK(std::ranges::count(reducers_of(*round.amended()), key_of(12)) > 0);
    }
}

TEST_CASE("a member that alone misses several others is left out and not heard again", "[round]") {
    Planned round;
    round.advance(round.config.rules.stall_timeout);
    wire::Stalled slander;
    slander.senders = {round.index_of(key_of(11)), round.index_of(key_of(13))};
    round.stall(key_of(12), slander);
    round.advance(1s);
    REQUIRE(round.amended());
    CHECK(std::ranges::count(members_of(*round.amended()), key_of(12)) == 0);
    for (const std::uint8_t n : Numbers{11, 13}) {
        CHECK(std::ranges::count(reducers_of(*round.amended()), key_of(n)) > 0);
    }
}

TEST_CASE("members that starve the same others explain all complaints", "[round]") {
    Bench bench;
    for (std::uint8_t n = 11; n <= 16; ++n) bench.add(n, 0);
    const wire::Plan plan = bench.plan(30);
    bench.advance(bench.config.rules.stall_timeout);
    // Half of the reducers: not most of them.
    wire::Stalled complaint;
    for (const std::uint8_t n : Numbers{12, 13}) {
        complaint.senders.push_back(wire::index_of(plan, key_of(n)));
    }
    for (const std::uint8_t n : Numbers{14, 15, 16}) bench.stall(key_of(n), complaint);
    bench.advance(1s);
    REQUIRE(bench.said<wire::Plan>().size() == 1);
    const Keys members = members_of(bench.last_plan);
    for (const std::uint8_t n : Numbers{12, 13}) CHECK(std::ranges::count(members, key_of(n)) == 0);
    for (const std::uint8_t n : Numbers{11, 14, 15, 16}) {
        CHECK(std::ranges::count(reducers_of(bench.last_plan), key_of(n)) > 0);
    }
}

TEST_CASE("a member that delays a round is left out for as long, times the members", "[round]") {
    Planned round;
    round.advance(round.config.rules.stall_timeout);
    wire::Stalled complaint;
    complaint.senders = {round.index_of(key_of(12))};
    for (const std::uint8_t n : Numbers{11, 13}) round.stall(key_of(n), complaint);
    round.advance(1s);
    const auto says = [](const Action& action) {
        const auto* note = std::get_if<action::Note>(&action);
        return note != nullptr && note->suspect == key_of(12) &&
               note->line.ends_with("left out for 24 s");
    };
    CHECK(std::ranges::count_if(round.out.actions, says) == 1);
}

TEST_CASE("a complaint that comes before any member can have stalled is a lie", "[round]") {
    Planned round;
    const auto accused = [&](std::uint8_t n) {
        return std::ranges::count_if(round.out.actions, [&](const Action& action) {
            const auto* note = std::get_if<action::Note>(&action);
            return note != nullptr && note->suspect == key_of(n);
        });
    };
    wire::Stalled slander;
    slander.senders = {round.index_of(key_of(12))};
    round.stall(key_of(11), slander);
    round.stall(round.self(), slander);  // its own clock may have jumped
    round.advance(1s);
    CHECK_FALSE(round.amended());
    CHECK(accused(11) == 1);
    CHECK(accused(1) == 0);
    round.advance(round.config.rules.stall_timeout * 3 / 4 - 1s);
    for (const std::uint8_t n : Numbers{11, 13}) round.stall(key_of(n), slander);
    CHECK(accused(11) == 1);
    CHECK(accused(13) == 0);
    round.advance(1s);
    const auto amended = round.amended();
    REQUIRE(amended);  // one is heard: those two are apart
    CHECK(wire::index_of(*amended, key_of(12)) < amended->members.size());
}

TEST_CASE("who does not reduce misses no contributors", "[round]") {
    Bench bench;
    bench.add(11, 0);
    const PeerKey outbound = bench.add(12, 0, {.port = 0});
    const wire::Plan plan = bench.plan(48);
    wire::Stalled slander;
    slander.senders = {wire::index_of(plan, key_of(11))};
    bench.stall(outbound, slander);
    bench.advance(1s);
    CHECK(bench.said<wire::Plan>().empty());
}

TEST_CASE("a member that gets a part and stalls has reduced nothing in the record", "[round]") {
    Planned round;
    REQUIRE(std::ranges::count(reducers_of(round.first), key_of(12)) > 0);
    round.advance(round.config.rules.stall_timeout);
    wire::Stalled complaint;
    complaint.reducers = {round.index_of(key_of(12))};
    round.stall(key_of(11), complaint);
    round.stall(key_of(13), complaint);
    round.advance(1s);
    const auto amended = round.amended();
    REQUIRE(amended);
    for (const PeerKey& peer : members_of(*amended)) round.be_ready(peer);
    REQUIRE(round.said<wire::Propose>().size() == 1);
    const auto decision = round.accept(1, round.said<wire::Propose>().front().digest);
    REQUIRE(decision);
    const CommitLine* const line = line_of(decision->record, key_of(12));
    CHECK((line == nullptr || line->reduced == 0));
    CHECK(reduced_in(decision->record) == round.config.rules.elements);
    for (const CommitLine& other : decision->record.members) {
        CHECK((other.reduced > 0) == (std::ranges::count(reducers_of(*amended), other.peer) > 0));
    }
}
