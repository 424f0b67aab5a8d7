#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <numeric>
#include <set>

#include "tests/peer/state/transfer_world.hpp"

namespace {

using namespace dedloc;
using namespace dedloc::test;

StepIndex plus(StepIndex step, std::uint64_t more) {
    return StepIndex{step.value() + more};
}

std::uint64_t leaves_sent(const TransferWorld& world) {
    std::uint64_t sum = 0;
    for (const auto& member : world.members) sum += member->leaves_sent;
    return sum;
}

std::vector<std::uint64_t> seeds() {
    if (const char* one = std::getenv("DEDLOC_SEED")) return {std::strtoull(one, nullptr, 0)};
    std::vector<std::uint64_t> all(100);
    std::iota(all.begin(), all.end(), std::uint64_t{1});
    return all;
}

/// Makes the member die, fall silent, send wrong leaves or forged offers, or do none of these.
void spoil(Member& member, Random& random, std::uint64_t seed) {
    if (random.below(3) == 0) member.messages_left = random.below(30);
    if (random.below(6) == 0) member.is_mute = true;
    Random dice{seed, random.next()};
    if (random.below(4) == 0) {
        member.tamper = [dice](wire::Leaf& leaf) mutable {
            if (dice.below(3) != 0 || leaf.data.empty()) return;
            const std::uint64_t what = dice.below(3);
            if (what == 0) leaf.data[dice.below(leaf.data.size())] ^= std::byte{16};
            if (what == 1) leaf.data.resize(dice.below(leaf.data.size()));
            if (what == 2) leaf.leaf = static_cast<std::uint32_t>(dice.below(30));
        };
    }
    if (random.below(4) == 0) {
        member.twist = [dice](wire::Body& body) mutable {
            const std::uint64_t what = dice.below(4);
            if (auto* state = std::get_if<wire::StateOffer>(&body)) {
                if (what == 0) state->leaves[0].bytes[0] ^= std::byte{1};
                if (what == 1) state->leaves.pop_back();
                if (what == 2) state->record.bytes[0] ^= std::byte{1};
                if (what == 3) state->votes.push_back({});
            }
            if (auto* round = std::get_if<wire::RoundOffer>(&body)) {
                if (what == 0) round->leaves[0].bytes[0] ^= std::byte{1};
                if (what == 1) round->certificate.term.number = 0;
                if (what == 2) round->record.members.push_back({});
            }
        };
    }
}

}  // namespace

TEST_CASE("a new peer fetches a share of the state from each of three donors", "[state]") {
    TransferWorld world{20 * kLeafElements, 1};
    for (int i = 0; i < 3; ++i) world.add_member(k5);
    world.add_member(k5, true).bytes_per_second = 1;  // voters are asked last
    world.members[3]->own.has_state = false;
    world.aim_at(k5);
    REQUIRE(world.run_until_current(10s));
    CHECK(*world.own_bytes == *world.history.state(k5));
    for (std::size_t i = 0; i < 3; ++i) CHECK(world.members[i]->leaves_sent >= 18);
    CHECK(world.members[3]->queries == 0);
    CHECK(leaves_sent(world) <= 60 + 3);
    const double alone = 12.0 * 20 * kLeafElements / 10e6;
    CHECK(std::chrono::duration<double>(world.now.time_since_epoch()).count() < alone / 3 + 0.2);
    CHECK(world.loads.size() == 1);
}

TEST_CASE("a voter is asked only if fewer than four other donors are known", "[state]") {
    for (const int others : {0, 1, 3, 4, 6}) {
        TransferWorld world{100, 2};
        world.add_member(k5, true);
        for (int i = 0; i < others; ++i) world.add_member(k5);
        world.aim_at(k5);
        REQUIRE(world.run_until_current(10s));
        CHECK(world.members[0]->queries == (others < 4 ? 1 : 0));
        std::uint64_t asked = 0;
        for (const auto& member : world.members) asked += member->queries;
        CHECK(asked == static_cast<std::uint64_t>(std::min(4, others + 1)));
    }
}

TEST_CASE("slow donors do not delay the end of a fetch", "[state]") {
    TransferWorld world{20 * kLeafElements, 3};
    world.add_member(k5);
    world.add_member(k5).bytes_per_second = 100e3;
    world.add_member(k5).bytes_per_second = 50e3;
    world.aim_at(k5);
    REQUIRE(world.run_until_current(60s));
    const double alone = 12.0 * 20 * kLeafElements / 10e6;
    const double took = std::chrono::duration<double>(world.now.time_since_epoch()).count();
    CHECK(took < 1.3 * alone + 0.2);
    CHECK(world.notes.empty());
}

TEST_CASE("a donor that sends a wrong leaf is dropped, noted and not asked again", "[state]") {
    TransferWorld world{20 * kLeafElements, 4};
    for (int i = 0; i < 3; ++i) world.add_member(k5);
    Member& liar = *world.members[1];
    liar.tamper = [](wire::Leaf& leaf) { leaf.data.back() ^= std::byte{1}; };
    world.aim_at(k5);
    REQUIRE(world.run_until_current(10s));
    CHECK(world.has_note(liar.key.brief() + " sends a leaf"));
    CHECK(liar.queries == 1);
    CHECK(liar.requests == 2);
    CHECK(*world.own_bytes == *world.history.state(k5));
}

TEST_CASE("a leaf of the wrong size is a wrong leaf", "[state]") {
    for (const std::size_t size : {std::size_t{1}, std::size_t{262'143}}) {
        TransferWorld world{2 * kLeafElements, 4};
        world.add_member(k5);
        Member& liar = world.add_member(k5);
        liar.tamper = [size](wire::Leaf& leaf) { leaf.data.resize(size); };
        world.aim_at(k5);
        REQUIRE(world.run_until_current(10s));
        CHECK(world.has_note(liar.key.brief()));
    }
}

TEST_CASE("a state is fetched although a donor dies at any point", "[state]") {
    for (const bool is_lone : {false, true}) {
        for (std::uint64_t point = 0; point < 14; ++point) {
            INFO("dies after " << point << " messages, lone " << is_lone);
            TransferWorld world{4 * kLeafElements, 5 + point};
            world.add_member(k5).messages_left = point;
            if (!is_lone) world.add_member(k5);
            world.aim_at(k5);
            if (is_lone) {
                (void)world.run_until([&] { return !world.members[0]->is_alive; }, 5s);
                world.add_member(k5);
            }
            REQUIRE(world.run_until_current(60s));
            CHECK(*world.own_bytes == *world.history.state(k5));
            CHECK(leaves_sent(world) <= 12 + 8 + 4);
        }
    }
}

TEST_CASE("a fetch keeps its leaves when all donors are replaced", "[state]") {
    TransferWorld world{20 * kLeafElements, 6};
    for (int i = 0; i < 2; ++i) world.add_member(k5);
    world.aim_at(k5);
    REQUIRE(world.run_until([&] { return world.catch_up->progress() > 30; }, 10s));
    for (std::size_t i = 0; i < 2; ++i) world.kill(*world.members[i], false);
    REQUIRE_FALSE(world.run_until_current(120s));
    const std::uint64_t kept = world.catch_up->progress();
    CHECK(kept > 30);
    CHECK(kept < 60);
    for (int i = 0; i < 2; ++i) world.add_member(k5);
    REQUIRE(world.run_until_current(10s));
    CHECK(world.members[2]->leaves_sent + world.members[3]->leaves_sent <= 30 + 3);
    CHECK(*world.own_bytes == *world.history.state(k5));
}

TEST_CASE("many donors that never answer do not hide one that does", "[state]") {
    TransferWorld world{1'000, 21};
    for (int i = 0; i < 8; ++i) world.add_member(k5).is_mute = true;
    world.add_member(k5, true);
    world.aim_at(k5);
    REQUIRE(world.run_until_current(3 * world.rules.failure_timeout));
}

TEST_CASE("a donor that receives requests and sends nothing is replaced", "[state]") {
    TransferWorld world{4 * kLeafElements, 7};
    Member& mute = world.add_member(k5);
    world.add_member(k5).bytes_per_second = 1e6;
    world.aim_at(k5);
    REQUIRE(world.run_until([&] { return world.catch_up->progress() > 0; }, 10s));
    mute.is_mute = true;
    REQUIRE(world.run_until_current(20s));
    CHECK(mute.is_alive);
}

TEST_CASE("leaves that are equal in a newer state are kept when donors move on", "[state]") {
    TransferWorld world{20 * kLeafElements, 8, 10};  // every step changes a tenth of the leaves
    for (int i = 0; i < 2; ++i) world.add_member(k5);
    world.aim_at(k5);
    REQUIRE(world.run_until([&] { return world.catch_up->progress() > 30; }, 10s));
    world.advance();
    for (const auto& member : world.members) member->donor.reset();  // forget all snapshots
    REQUIRE(world.run_until_current(30s));
    CHECK(world.own.step == plus(k5, 1));
    CHECK(world.loads.size() == 1);
    CHECK(leaves_sent(world) <= 60 + 6 + 16 + 4);  // all leaves, changed ones, empty answers
}

TEST_CASE("a snapshot is kept while the swarm moves on, then rounds are fetched", "[state]") {
    TransferWorld world{20 * kLeafElements, 9};
    for (int i = 0; i < 2; ++i) world.add_member(k5);
    world.aim_at(k5);
    REQUIRE(world.run_until([&] { return world.catch_up->progress() > 18; }, 10s));
    world.advance();
    REQUIRE(world.run_until([&] { return world.catch_up->progress() > 36; }, 10s));
    world.advance();
    REQUIRE(world.run_until_current(30s));
    CHECK(world.own.step == plus(k5, 2));
    REQUIRE(world.loads.size() == 1);
    CHECK(world.loads[0].step == k5);
    CHECK(world.rounds == std::vector<StepIndex>{k5, plus(k5, 1)});
}

TEST_CASE("a peer fetches rounds while they are retained, and else a whole state", "[state]") {
    constexpr std::uint32_t kKept = 4;
    for (std::uint64_t behind = 1; behind <= kKept + 2; ++behind) {
        INFO(behind << " steps behind");
        TransferWorld world{3 * kLeafElements + 1, 10, 1, kKept};
        for (int i = 0; i < 3; ++i) world.add_member(plus(k5, behind));
        world.start_at(k5);
        world.aim_at(plus(k5, behind));
        REQUIRE(world.run_until_current(30s));
        CHECK(world.own.step == plus(k5, behind));
        CHECK(world.rounds.size() == (behind <= kKept ? behind : 0));
        CHECK(world.loads.size() == (behind <= kKept ? 0 : 1));
        CHECK(world.now.time_since_epoch() < 2s);
    }
}

TEST_CASE("rounds are fetched no faster than they are applied", "[state]") {
    TransferWorld world{1'000, 22, 1, 4};
    for (int i = 0; i < 3; ++i) world.add_member(plus(k5, 4));
    world.start_at(k5);
    world.apply_time = 900ms;
    world.aim_at(plus(k5, 4));
    REQUIRE(world.run_until_current(5s));
    CHECK(world.rounds.size() == 4);
    CHECK(world.loads.empty());
    CHECK(world.notes.empty());
}

TEST_CASE("an update with an uncertified result is repaired by a whole state", "[state]") {
    TransferWorld world{1'000, 23, 1, 4};
    for (int i = 0; i < 3; ++i) world.add_member(plus(k5, 4));
    world.start_at(k5);
    world.aim_at(plus(k5, 1));
    world.aim_at(plus(k5, 4));
    REQUIRE(world.run_until([&] { return world.rounds.size() == 1; }, 5s));
    Outbox out;
    world.catch_up->reached(world.now, plus(k5, 1), Digest{{std::byte{66}}}, out);
    CHECK(out.actions.size() == 1);
    REQUIRE(out.messages.size() == 3);
    CHECK(std::get<wire::StateQuery>(out.messages[0].body) == wire::StateQuery{.has_state = false});
}

TEST_CASE("a state is fetched if no donor retains the round", "[state]") {
    TransferWorld world{kLeafElements, 11, 1, 3};
    for (int i = 0; i < 3; ++i) {
        Member& member = world.add_member(plus(k5, 2));
        member.donor.begin(0);  // forget all rounds, like a member that has just joined
        world.certify(member, plus(k5, 2));
    }
    world.start_at(k5);
    world.aim_at(plus(k5, 2));
    REQUIRE(world.run_until_current(30s));
    CHECK(world.rounds.empty());
    CHECK(world.loads.size() == 1);
    CHECK(world.now.time_since_epoch() < 2s);
}

TEST_CASE("rounds are fetched although a donor dies at any point", "[state]") {
    for (std::uint64_t point = 0; point < 10; ++point) {
        INFO("dies after " << point << " messages");
        TransferWorld world{3 * kLeafElements, 12 + point, 1, 3};
        world.add_member(plus(k5, 3)).messages_left = point;
        world.add_member(plus(k5, 3));
        world.start_at(k5);
        world.aim_at(plus(k5, 3));
        REQUIRE(world.run_until_current(60s));
        CHECK(world.rounds.size() == 3);
    }
}

TEST_CASE("a donor that sends a wrong leaf of a round is dropped", "[state]") {
    TransferWorld world{3 * kLeafElements, 13, 1, 3};
    for (int i = 0; i < 2; ++i) world.add_member(plus(k5, 3));
    world.members[0]->tamper = [](wire::Leaf& leaf) { leaf.data[0] ^= std::byte{4}; };
    world.start_at(k5);
    world.aim_at(plus(k5, 3));
    REQUIRE(world.run_until_current(30s));
    CHECK(world.rounds.size() == 3);
    CHECK(world.has_note(world.members[0]->key.brief()));
}

TEST_CASE("a damaged member fetches only the leaves that differ", "[state]") {
    TransferWorld world{20 * kLeafElements, 14};
    for (int i = 0; i < 3; ++i) world.add_member(k5);
    world.start_at(k5, {7, 31});
    world.aim_at(k5);
    REQUIRE(world.run_until_current(10s));
    CHECK(leaves_sent(world) == 2);
    CHECK(world.has_note("2 of 60 leaves of the own state of step 5 differ, the first is leaf 7"));
    CHECK(*world.own_bytes == *world.history.state(k5));
}

TEST_CASE("a refused state is fetched again without reusing own leaves", "[state]") {
    TransferWorld world{4 * kLeafElements, 15};
    for (int i = 0; i < 2; ++i) world.add_member(k5);
    world.start_at(k5, {3});
    world.refuse_loads = 1;
    world.aim_at(k5);
    REQUIRE(world.run_until_current(20s));
    CHECK(world.loads.size() == 2);
    CHECK(leaves_sent(world) >= 1 + 12);
}

TEST_CASE("states of all sizes are fetched completely", "[state]") {
    for (const std::uint64_t elements : {1u, 2u, 21'845u, 21'846u, 43'690u, 43'691u, 65'535u,
                                         65'536u, 65'537u, 87'382u, 300'001u}) {
        INFO(elements << " elements");
        TransferWorld world{elements, elements};
        for (int i = 0; i < 3; ++i) world.add_member(k5);
        world.aim_at(k5);
        REQUIRE(world.run_until_current(10s));
        CHECK(*world.own_bytes == *world.history.state(k5));
        world.advance();
        REQUIRE(world.run_until_current(10s));
        CHECK(world.rounds == std::vector<StepIndex>{k5});
    }
}

TEST_CASE("the first state of a generation is accepted without votes", "[state]") {
    TransferWorld world{1'000, 16};
    world.add_member(StepIndex{0});
    world.aim_at(StepIndex{0});
    REQUIRE(world.run_until_current(10s));
    CHECK(world.loads.size() == 1);
}

TEST_CASE("an offer ahead of the target is accepted by its own certificate", "[state]") {
    TransferWorld world{1'000, 17};
    Member& donor = world.add_member(k5);
    world.aim_at(k5);
    donor.own.step = plus(k5, 1);
    donor.own.state = world.history.state_digest(donor.own.step);
    donor.donor.keep(world.history.record(k5), History::certificate(), world.history.average(k5));
    // Not before the donor has the certificate.
    REQUIRE_FALSE(world.run_until_current(500ms));
    CHECK(world.loads.empty());
    world.certify(donor, plus(k5, 1));
    REQUIRE(world.run_until_current(200ms));
    REQUIRE(world.loads.size() == 1);
    CHECK(world.loads[0].step == plus(k5, 1));
    CHECK(world.loads[0].digest == world.history.state_digest(plus(k5, 1)));
}

TEST_CASE("an offer with an invalid certificate is refused and noted", "[state]") {
    const std::vector<std::function<void(wire::StateOffer&)>> twists{
        [](wire::StateOffer& o) { o.votes.clear(); },
        [](wire::StateOffer& o) { o.votes[0].signature[0] ^= std::byte{1}; },
        [](wire::StateOffer& o) { o.votes.push_back(o.votes[0]); },
        [](wire::StateOffer& o) { o.record.bytes[0] ^= std::byte{1}; },
        [](wire::StateOffer& o) { o.leaves[1].bytes[0] ^= std::byte{1}; },
    };
    for (const auto& twist : twists) {
        TransferWorld world{kLeafElements, 24};
        Member& donor = world.add_member(plus(k5, 1));
        donor.twist = [&](wire::Body& body) { twist(std::get<wire::StateOffer>(body)); };
        world.aim_at(k5);  // the donor is ahead of this target
        REQUIRE_FALSE(world.run_until_current(20s));
        CHECK(world.has_note(donor.key.brief() +
                             " offers a state of step 6 that its certificate does not prove"));
        CHECK(donor.requests == 0);
        CHECK(world.loads.empty());
        donor.twist = nullptr;
        REQUIRE(world.run_until_current(20s));
        CHECK(world.own.step == plus(k5, 1));
    }
}

TEST_CASE("a certificate of another step proves no state", "[state]") {
    TransferWorld world{kLeafElements, 25};
    Member& donor = world.add_member(plus(k5, 1));
    donor.twist = [&](wire::Body& body) {
        auto& offer = std::get<wire::StateOffer>(body);
        offer.record = world.history.proof(plus(k5, 2)).record;
        offer.votes = world.history.proof(plus(k5, 2)).votes;
    };
    world.aim_at(k5);
    REQUIRE_FALSE(world.run_until_current(20s));
    CHECK(world.loads.empty());
    CHECK(donor.requests == 0);
}

TEST_CASE("a query during an update is answered right after it", "[state]") {
    TransferWorld world{1'000, 18};
    Member& donor = world.add_member(k5);
    world.aim_at(k5);
    donor.own.has_state = false;
    world.later(300ms, [&] {
        donor.own.has_state = true;
        world.advance();
    });
    REQUIRE(world.run_until_current(2s));
    CHECK(world.own.step == plus(k5, 1));
}

TEST_CASE("a higher generation ends a fetch", "[state]") {
    TransferWorld world{20 * kLeafElements, 19};
    world.add_member(k5);
    world.aim_at(k5);
    REQUIRE(world.run_until([&] { return world.catch_up->progress() > 12; }, 10s));
    Outbox out;
    StateCertificate target = world.history.proof(k5);
    target.generation = 3;
    world.catch_up->aim(world.now, target, out);
    CHECK_FALSE(world.catch_up->is_active());
    target.generation = 2;
    world.catch_up->aim(world.now, target, out);
    world.catch_up->check_invariants();
    CHECK(world.catch_up->next_deadline() == kNever);
}

TEST_CASE("offers of a state other than the target are noted and not used", "[state]") {
    const std::vector<std::function<void(wire::StateOffer&)>> twists{
        [](wire::StateOffer& o) { o.leaves[1].bytes[0] ^= std::byte{1}; },
        [](wire::StateOffer& o) { std::swap(o.leaves[0], o.leaves[1]); },
        [](wire::StateOffer& o) { o.leaves.pop_back(); },
        [](wire::StateOffer& o) { o.bytes += 12; },
    };
    for (const auto& twist : twists) {
        TransferWorld world{kLeafElements, 20};
        Member& member = world.add_member(k5);
        member.twist = [&](wire::Body& body) { twist(std::get<wire::StateOffer>(body)); };
        world.aim_at(k5);
        REQUIRE_FALSE(world.run_until_current(20s));
        CHECK(world.has_note(member.key.brief() + " offers a state of"));
        CHECK(member.requests == 0);
        member.twist = nullptr;
        REQUIRE(world.run_until_current(20s));
    }
}

TEST_CASE("under all faults, the target and no other state is loaded", "[state]") {
    for (const std::uint64_t seed : seeds()) {
        INFO("replay: DEDLOC_SEED=" << seed);
        Random random{seed, 77};
        TransferWorld world{1 + random.below(2 * kLeafElements), seed,
                            1 + static_cast<std::uint32_t>(random.below(4)),
                            static_cast<std::uint32_t>(random.below(4))};
        if (seed % 2 == 0) world.offered_leaves = 1 + seed / 2 % 4;  // else lists are not needed
        const StepIndex start = plus(k5, random.below(5));
        const std::uint64_t own = random.below(4);
        if (own == 0) world.start_at(start, {0});
        if (own == 1) world.start_at(plus(k5, random.below(start.value() - 4)));
        const std::uint64_t count = 2 + random.below(5);
        for (std::uint64_t i = 0; i < count; ++i) {
            Member& member = world.add_member(start, i == 0);
            member.bytes_per_second = 50e3 + random.uniform() * 10e6;
            member.latency = std::chrono::milliseconds{1 + random.below(200)};
            if (i > 0) spoil(member, random, seed);  // the voter stays honest
        }
        world.aim_at(start);
        for (std::uint64_t i = random.below(4); i > 0; --i) {
            world.later(std::chrono::milliseconds{random.below(4'000)}, [&] { world.advance(); });
        }
        (void)world.run_until([] { return false; }, 5s);
        REQUIRE(world.run_until_current(300s));
        CHECK(*world.own_bytes == *world.history.state(world.own.step));
        std::set<StepIndex> steps;
        for (const action::Load& load : world.loads) {
            CHECK(world.aimed.contains({load.step, load.digest}));
            CHECK(steps.insert(load.step).second);  // no state is loaded twice
        }
    }
}
