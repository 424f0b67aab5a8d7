// Dispute: the reducers that have sent another average than the decided one.
#include "peer/round/dispute.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "tests/peer/round/exchange.hpp"

using namespace dedloc;
using namespace dedloc::round;

namespace {

constexpr std::uint64_t kLength = 200'000;

/// Four members that reduce equal parts.
struct Quarters {
    Quarters() {
        wire::Plan plan = exchange.plan();
        const auto chunks = static_cast<std::uint32_t>((kLength + kChunk - 1) / kChunk);
        plan.chunk_elements = kChunk;
        plan.ranges.clear();
        for (std::uint32_t k = 0; k < 4; ++k) {
            plan.ranges.push_back({.member = PeerIndex{k},
                                   .first_chunk = k * chunks / 4,
                                   .last_chunk = (k + 1) * chunks / 4});
        }
        ++plan.attempt;
        exchange.follow(plan);
    }
    static constexpr std::uint32_t kChunk = 1'024;
    Exchange exchange{7, kLength, 4};
};

}  // namespace

TEST_CASE("reducers whose parts differ from the decided average are named", "[averaging]") {
    Quarters quarters;
    quarters.exchange.finish();
    const Reduction& member = quarters.exchange.reduction(peer_key(0));
    const Dispute dispute{Digest{}, member.average(), member.parts_of_others()};
    FloatVector decided = *member.average();
    CHECK(dispute.liars(decided).empty());
    CHECK(dispute.liars(FloatVector(1)).empty());
    CHECK(member.parts_of_others().size() == 3);
    for (const Reduction::Part& part : member.parts_of_others()) {
        REQUIRE(part.reducer != peer_key(0));
        FloatVector other = decided;
        float& last = other[part.first + part.elements - 1];
        last = std::nextafter(last, 1e9F);
        CHECK(dispute.liars(other) == std::vector{part.reducer});
    }
    for (float& x : decided) x += 1;
    CHECK(dispute.liars(decided).size() == 3);
}

TEST_CASE("the new reducer of chunks that have moved is not blamed for them", "[averaging]") {
    // A contributor may have sent the two reducers different slices.
    Quarters quarters;
    wire::Plan plan = quarters.exchange.plan();
    const std::uint64_t first = std::uint64_t{plan.ranges[1].first_chunk} * Quarters::kChunk;
    plan.ranges[1].member = PeerIndex{2};
    ++plan.attempt;
    quarters.exchange.follow(plan);
    quarters.exchange.finish();
    for (const std::size_t k : {std::size_t{0}, std::size_t{3}}) {
        std::uint64_t elements = 0;
        for (const auto& part : quarters.exchange.reduction(peer_key(k)).parts_of_others()) {
            CHECK_FALSE((part.first <= first && first < part.first + part.elements));
            elements += part.elements;
        }
        CHECK(elements > kLength / 3);
    }
}
