// Plans as changes of earlier ones.
#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/wire/limits.hpp"
#include "peer/wire/message_codec.hpp"
#include "peer/wire/plan_change.hpp"
#include "tests/peer/wire/samples.hpp"

using namespace dedloc;

namespace {

/// A plan of so many members; every `every`-th reduces one chunk.
wire::Plan plan_of(std::uint32_t members, std::uint32_t every) {
    wire::Plan plan;
    plan.term.number = 1;
    plan.attempt = 4;
    plan.chunk_elements = 64;
    plan.scalars = {.learning_rate = 0x3a000000u,
                    .first_correction = 0x3f000000u,
                    .second_correction = 0x3f000000u};
    for (std::uint32_t k = 0; k < members; ++k) {
        PeerKey key;
        key.bytes[0] = static_cast<std::byte>(k >> 8);
        key.bytes[1] = static_cast<std::byte>(k & 255);
        plan.members.push_back({key, Samples{k}, 0, k});
        if (k % every != 0) continue;
        const auto chunk = static_cast<std::uint32_t>(plan.ranges.size());
        plan.ranges.push_back({PeerIndex{k}, chunk, chunk + 1});
        plan.reducers.push_back({PeerIndex{k}, {"10.0.0.1", static_cast<std::uint16_t>(1 + k)}});
        plan.relays.push_back(k);
    }
    plan.elements = 64 * plan.ranges.size();
    REQUIRE(wire::is_within_bounds(plan));
    return plan;
}

/// The plan of a later attempt without some members, whose chunks others reduce.
wire::Plan amended(const wire::Plan& base, Random& random) {
    wire::Plan next = base;
    next.attempt += 1 + static_cast<std::uint32_t>(random.below(3));
    next.members.clear();
    std::vector<std::uint32_t> index(base.members.size(), 0);
    std::vector<bool> remains(base.members.size(), true);
    for (auto k = random.below(4); k > 0; --k) remains[random.below(remains.size())] = false;
    remains[random.below(remains.size())] = true;
    for (std::size_t k = 0; k < remains.size(); ++k) {
        index[k] = static_cast<std::uint32_t>(next.members.size());
        if (remains[k]) next.members.push_back(base.members[k]);
    }
    for (wire::ChunkRange& range : next.ranges) {
        const std::uint32_t old = range.member.value();
        const bool moves = !remains[old] || random.below(8) == 0;
        range.member = PeerIndex{
            moves ? static_cast<std::uint32_t>(random.below(next.members.size())) : index[old]};
    }
    next.reducers.clear();
    for (std::uint32_t k = 0; k < next.members.size(); ++k) {
        const bool reduces = std::ranges::any_of(
            next.ranges, [&](const wire::ChunkRange& r) { return r.member == PeerIndex{k}; });
        const auto port = static_cast<std::uint16_t>(1 + next.members[k].contribution_id);
        if (reduces) next.reducers.push_back({PeerIndex{k}, {"10.0.0.1", port}});
    }
    next.relays = {static_cast<std::uint32_t>(random.below(next.members.size()))};
    return next;
}

}  // namespace

TEST_CASE("a change makes the later plan of the earlier one", "[wire][property]") {
    Random random{1};
    for (int n = 0; n < 500; ++n) {
        const wire::Plan base = plan_of(1 + static_cast<std::uint32_t>(random.below(60)),
                                        1 + static_cast<std::uint32_t>(random.below(5)));
        wire::Plan held = base;
        wire::Plan next = base;
        for (int amendment = 0; amendment < 3; ++amendment) {
            next = amended(next, random);
            const auto change = wire::change_of(held, next);
            REQUIRE(change);
            const auto made = wire::applied(held, *change);
            REQUIRE(made);
            REQUIRE(*made == next);
            if (amendment == 0) CHECK_FALSE(wire::applied(next, *change));
            held = *made;
        }
        CHECK(wire::digest_of(held) != wire::digest_of(base));
    }
}

TEST_CASE("a change of a plan of a thousand members is small", "[wire]") {
    const wire::Plan base = plan_of(1'000, 40);
    wire::Plan next = base;
    ++next.attempt;
    next.members.erase(next.members.begin() + 501);
    for (wire::ChunkRange& range : next.ranges) {
        if (range.member.value() > 501) range.member = PeerIndex{range.member.value() - 1};
    }
    for (wire::ReducerEndpoint& reducer : next.reducers) {
        if (reducer.member.value() > 501) reducer.member = PeerIndex{reducer.member.value() - 1};
    }
    next.relays.clear();
    const auto change = wire::change_of(base, next);
    REQUIRE(change);
    CHECK(wire::applied(base, *change) == next);
    const auto bytes_of = [](wire::Body body) {
        wire::Message message;
        message.body = std::move(body);
        return wire::pack(message).around.size();
    };
    CHECK(bytes_of(next) > 54'000);
    CHECK(bytes_of(*change) < 500);
}

TEST_CASE("what a change cannot say is no change", "[wire]") {
    const wire::Plan base = plan_of(9, 3);
    const auto changed = [&](auto change) {
        wire::Plan next = base;
        ++next.attempt;
        change(next);
        return wire::change_of(base, next);
    };
    CHECK(changed([](wire::Plan&) {}));
    CHECK_FALSE(changed([](wire::Plan& p) { p.members[2].samples = Samples{99}; }));
    CHECK_FALSE(changed([](wire::Plan& p) { p.reducers[1].endpoint.port = 7; }));
    CHECK_FALSE(changed([](wire::Plan& p) { p.scalars.learning_rate = 0; }));
    CHECK_FALSE(changed([](wire::Plan& p) { ++p.term.number; }));
    CHECK_FALSE(changed([](wire::Plan& p) { p.members.back().peer.bytes[0] = std::byte{9}; }));
}

TEST_CASE("a change that does not fit its base makes no plan", "[wire][property]") {
    Random random{2};
    tests::WireSamples samples{3};
    for (int n = 0; n < 2'000; ++n) {
        const wire::Plan base = plan_of(12, 2);
        auto change = *wire::change_of(base, amended(base, random));
        wire::PlanChange other;
        samples.make(other);
        switch (random.below(7)) {
            case 0:
                change.removed = other.removed;
                break;
            case 1:
                change.ranges = other.ranges;
                break;
            case 2:
                change.reducers = other.reducers;
                break;
            case 3:
                change.relays = other.relays;
                break;
            case 4:
                change.digest = other.digest;
                break;
            case 5:
                change.term = other.term;
                break;
            default:
                change.base += 1 + static_cast<std::uint32_t>(random.below(9));
        }
        const auto made = wire::applied(base, change);
        if (made) REQUIRE(wire::digest_of(*made) == change.digest);
    }
    // Bounds of the message itself.
    wire::Message message;
    const auto is_sound = [&](auto spoil) {
        auto change = *wire::change_of(plan_of(12, 2), amended(plan_of(12, 2), random));
        spoil(change);
        message.body = change;
        return wire::is_within_bounds(message);
    };
    CHECK(is_sound([](wire::PlanChange&) {}));
    CHECK_FALSE(is_sound([](wire::PlanChange& c) { c.base = c.attempt; }));
    CHECK_FALSE(is_sound([](wire::PlanChange& c) { c.base = 0; }));
    CHECK_FALSE(is_sound([](wire::PlanChange& c) { c.removed = {3, 3}; }));
    CHECK_FALSE(is_sound([](wire::PlanChange& c) { c.relays = {5, 4}; }));
    CHECK_FALSE(is_sound([](wire::PlanChange& c) { c.ranges = {{PeerIndex{0}, 2, 2}}; }));
    CHECK_FALSE(is_sound([](wire::PlanChange& c) {
        c.ranges = {{PeerIndex{0}, 2, 4}, {PeerIndex{0}, 3, 5}};
    }));
    CHECK_FALSE(is_sound([](wire::PlanChange& c) { c.ranges = {{PeerIndex{1'024}, 2, 4}}; }));
    CHECK_FALSE(is_sound([](wire::PlanChange& c) { c.reducers = {{PeerIndex{0}, {"host", 1}}}; }));
    const auto is_query = [&](const wire::SliceQuery& query) {
        message.body = query;
        return wire::is_within_bounds(message);
    };
    CHECK(is_query({.sum_id = 1, .chunk_elements = 64, .chunks = {{0, 3}, {3, 4}}}));
    CHECK_FALSE(is_query({.sum_id = 1, .chunk_elements = 64, .chunks = {}}));
    CHECK_FALSE(is_query({.sum_id = 1, .chunk_elements = 0, .chunks = {{0, 3}}}));
    CHECK_FALSE(is_query({.sum_id = 1, .chunk_elements = 64, .chunks = {{3, 4}, {0, 3}}}));
    CHECK_FALSE(is_query({.sum_id = 1, .chunk_elements = 64, .chunks = {{0, 0xffffffff}}}));
}
