// reassign(): where the chunks of lost reducers go.
#include <algorithm>
#include <catch2/catch.hpp>

#include "peer/planning/baselines.hpp"
#include "tests/peer/planning/fleets.hpp"

using namespace dedloc;
using namespace dedloc::planning;

namespace {

std::vector<std::uint32_t> owners_of(std::span<const ChunkRange> ranges) {
    std::vector<std::uint32_t> owners;
    for (const ChunkRange& range : ranges) {
        REQUIRE(range.first_chunk == owners.size());
        owners.resize(range.last_chunk, range.member.value());
    }
    return owners;
}

/// The request without traffic of the lost members.
PlanRequest without(PlanRequest request, std::span<const PeerIndex> lost) {
    for (const PeerIndex member : lost) {
        request.members[member.value()].contributes = false;
        request.members[member.value()].receives = false;
    }
    return request;
}

}  // namespace

TEST_CASE("losses move the lost chunks and no others", "[planning][property]") {
    for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
        INFO("seed " << seed);
        Random random{seed};
        PlanRequest request = random_fleet(random, {.max_members = 16});
        const auto plan = plan_shares(request);
        REQUIRE(plan);
        std::vector<ChunkRange> ranges = plan->ranges;
        std::vector<PeerIndex> lost;
        while (lost.size() < request.members.size()) {
            const PeerIndex victim{
                static_cast<std::uint32_t>(random.below(request.members.size()))};
            if (std::find(lost.begin(), lost.end(), victim) != lost.end()) continue;
            lost.push_back(victim);
            request = without(request, lost);
            const auto amended = reassign(request, ranges, lost);
            const auto is_lost = [&](std::uint32_t k) {
                return std::find(lost.begin(), lost.end(), PeerIndex{k}) != lost.end();
            };
            bool is_anybody_left = false;
            for (std::uint32_t k = 0; k < request.members.size(); ++k) {
                is_anybody_left |= request.members[k].is_reachable && !is_lost(k);
            }
            REQUIRE(amended.has_value() == is_anybody_left);
            if (!is_anybody_left) {
                CHECK(amended.reason() == PlanFailure::kNoReducer);
                break;
            }
            const auto before = owners_of(ranges);
            const auto after = owners_of(*amended);
            REQUIRE(before.size() == after.size());
            for (std::size_t chunk = 0; chunk < before.size(); ++chunk) {
                const std::uint32_t owner = after[chunk];
                if (is_lost(owner) || !request.members[owner].is_reachable) FAIL("a wrong owner");
                if (!is_lost(before[chunk]) && owner != before[chunk]) FAIL("a chunk has moved");
            }
            CHECK(amended->size() <= ranges.size() + request.members.size());
            ranges = *amended;
        }
    }
}

TEST_CASE("equal members take equal parts of what was lost", "[planning]") {
    const PlanRequest request = fleet_of({{5, 100, 100}}, 8'000'000, kFp32);
    const auto plan = plan_shares(request);
    const std::vector<PeerIndex> lost{PeerIndex{2}};
    const auto amended = reassign(without(request, lost), plan->ranges, lost);
    const Forecast forecast = planning::forecast(without(request, lost), *amended);
    const std::uint32_t quarter = size_of(request).chunks / 4;
    for (const std::size_t k : {0u, 1u, 3u, 4u}) {
        CHECK(forecast.loads[k].chunks >= quarter);
        CHECK(forecast.loads[k].chunks <= quarter + 1);
    }
}

TEST_CASE("a lost parameter server is replaced by all members that can be dialled", "[planning]") {
    const PlanRequest request =
        fleet_of({{4, 100, 100}, {2, 100, 100, true, false}, {1, 9'000, 9'000}}, 8'000'000, kFp32);
    const auto plan = plan_shares(request);
    REQUIRE(plan->ranges.size() == 1);
    const std::vector<PeerIndex> lost{PeerIndex{6}};
    const PlanRequest rest = without(request, lost);
    const auto amended = reassign(rest, plan->ranges, lost);
    CHECK(*amended == equal_shares([&] {
                          PlanRequest reachable = rest;
                          reachable.members[6].is_reachable = false;
                          return reachable;
                      }())
                          ->ranges);
}

TEST_CASE("an amended plan is nearly as fast as a new one", "[planning][property]") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        INFO("seed " << seed);
        Random random{seed};
        const PlanRequest request = fleet_of({{4, 200, 200}, {8, 100, 100}, {4, 50, 50}},
                                             1'000'000 + random.below(20'000'000), kHalf);
        const auto plan = plan_shares(request);
        const std::vector<PeerIndex> lost{PeerIndex{static_cast<std::uint32_t>(random.below(16))}};
        PlanRequest rest = without(request, lost);
        const auto amended = reassign(rest, plan->ranges, lost);
        rest.members[lost[0].value()].is_reachable = false;
        const Duration anew = plan_shares(rest)->forecast.transfer;
        CHECK(forecast(rest, *amended).transfer <= anew + anew / 20);
    }
}
