// The planner on fleets whose best plan is known analytically.
#include <catch2/catch.hpp>

#include "peer/planning/baselines.hpp"
#include "tests/peer/planning/fleets.hpp"

using namespace dedloc;
using namespace dedloc::planning;

namespace {

SharePlan planned(const PlanRequest& request) {
    const auto plan = plan_shares(request);
    REQUIRE(plan);
    return *plan;
}

std::vector<std::uint32_t> chunks_of(const SharePlan& plan) {
    std::vector<std::uint32_t> chunks;
    for (const MemberLoad& load : plan.forecast.loads) chunks.push_back(load.chunks);
    return chunks;
}

constexpr std::uint64_t kResNet = 25'625'000;  // 410 Mbit in fp16

}  // namespace

TEST_CASE("equal links give the all-reduce and its bound", "[planning]") {
    const PlanRequest request = fleet_of({{8, 1'000, 1'000}}, kResNet, kHalf);
    const SharePlan plan = planned(request);
    CHECK(seconds_of(plan.optimum) == Approx(2 * 7.0 / 8 * 0.41).epsilon(1e-6));
    CHECK(plan.ranges == equal_shares(request)->ranges);
    for (const MemberLoad& load : plan.forecast.loads) CHECK(load.limit != Limit::kNone);
}

TEST_CASE("one peer with a fast link becomes the parameter server", "[planning]") {
    // 16 trainers at 100: a peer with at least 15 × 100 in both directions reduces everything.
    const PlanRequest request = fleet_of({{15, 100, 100}, {1, 1'500, 1'500}}, kResNet, kHalf);
    const SharePlan plan = planned(request);
    CHECK(seconds_of(plan.optimum) == Approx(4.1).epsilon(1e-6));
    CHECK(plan.forecast.loads.back().chunks == size_of(request).chunks);
    const PlanRequest thinner = fleet_of({{15, 100, 100}, {1, 1'400, 1'400}}, kResNet, kHalf);
    CHECK(planned(thinner).forecast.loads.back().chunks < size_of(thinner).chunks);
}

TEST_CASE("aggregators take shares as in BytePS", "[planning]") {
    // An aggregator carries 8 w both ways, a trainer 1 + 6 w. With all links equal
    // 8 w_a = 1 + 6 w_t and 8 w_a + 8 w_t = 1, so w_t = 0 and w_a = 1/8: aggregators take all.
    const PlanRequest all = fleet_of({{8, 100, 100}, {8, 100, 100, false}}, kResNet, kHalf);
    const SharePlan plan = planned(all);
    CHECK(seconds_of(plan.optimum) == Approx(4.1).epsilon(1e-6));
    for (std::size_t k = 0; k < 8; ++k) CHECK(plan.forecast.loads[k].chunks == 0);
    // Half as many: trainers keep the remainder; 8 w_a = 1 + 6 w_t, 4 w_a + 8 w_t = 1.
    const PlanRequest half = fleet_of({{8, 100, 100}, {4, 100, 100, false}}, kResNet, kHalf);
    const double trainers = (1 - 0.5) / (8 + 3);
    CHECK(seconds_of(planned(half).optimum) == Approx(4.1 * (1 + 6 * trainers)).epsilon(1e-6));
}

TEST_CASE("outbound-only members reduce nothing and still bound the plan", "[planning]") {
    const PlanRequest request =
        fleet_of({{4, 100, 100}, {4, 20, 100, true, false}}, kResNet, kHalf);
    const SharePlan plan = planned(request);
    CHECK(seconds_of(plan.optimum) == Approx(410.0 / 20).epsilon(1e-6));
    for (std::size_t k = 4; k < 8; ++k) {
        CHECK(plan.forecast.loads[k].chunks == 0);
        CHECK(plan.forecast.loads[k].limit == Limit::kUpload);
    }
    CHECK(plan.forecast.loads[0].limit == Limit::kNone);
}

TEST_CASE("the planner finds the bounds of the literature's fleets", "[planning]") {
    struct Row {
        PlanRequest request;
        double server;
        double equal;
        double best;
    };
    const PlanRequest albert =
        fleet_of({{4, 200, 200}, {8, 100, 100}, {4, 50, 50}}, kAlbert, kHalf);
    const PlanRequest helped =
        fleet_of({{4, 200, 200}, {8, 100, 100}, {4, 50, 50}, {4, 500, 500, false}}, kAlbert, kHalf);
    const Row rows[] = {
        {albert, 21.6, 10.8, 5.76},
        {helped, 288.0 * 16 / 500, 288.0 * (1 + 14.0 / 20) / 50, 5.76},
        {fleet_of({{8, 1'000, 1'000}}, kResNet, kHalf), 2.87, 0.7175, 0.7175},
        {fleet_of({{16, 200, 200}}, kResNet, kHalf), 30.75, 3.84375, 3.84375},
        {fleet_of({{8, 1'000, 1'000}, {16, 200, 200}}, kResNet, kHalf), 9.43, 3.93, 2.05},
        {fleet_of({{16, 200, 200}, {1, 2'500, 2'500, false}}, kResNet, kHalf), 2.624, 3.74, 2.28},
    };
    for (const Row& row : rows) {
        INFO(row.request.members.size() << " members, server " << row.server);
        CHECK(seconds_of(planned(row.request).optimum) == Approx(row.best).epsilon(0.003));
        CHECK(seconds_of(best_parameter_server(row.request)->optimum) ==
              Approx(row.server).epsilon(0.003));
        // Shares in whole chunks.
        CHECK(seconds_of(equal_shares(row.request)->optimum) == Approx(row.equal).epsilon(0.02));
        CHECK(seconds_of(planned(row.request).forecast.transfer) == Approx(row.best).epsilon(0.02));
    }
}

TEST_CASE("a lone member averages everything and sends nothing", "[planning]") {
    PlanRequest request = fleet_of({{1, 10, 10}}, 1'000, kFp32);
    request.latency = std::chrono::milliseconds{50};
    const SharePlan plan = planned(request);
    CHECK(plan.optimum == Duration{0});
    CHECK(plan.forecast.round == Duration{0});
    CHECK(plan.ranges == std::vector<ChunkRange>{{PeerIndex{0}, 0, size_of(request).chunks}});
}

TEST_CASE("without a member that can be dialled there is no plan", "[planning]") {
    const PlanRequest request = fleet_of({{3, 10, 10, true, false}}, 1'000, kFp32);
    const auto plan = plan_shares(request);
    REQUIRE_FALSE(plan);
    CHECK(plan.reason() == PlanFailure::kNoReducer);
    CHECK_FALSE(equal_shares(request));
    CHECK_FALSE(best_parameter_server(request));
}

TEST_CASE("the only contributor and the only receiver reduce what they would send", "[planning]") {
    // The contributor has a slow upload: of chunks that it averages it sends only the average.
    PlanRequest request = fleet_of({{1, 10, 1'000}, {1, 1'000, 1'000}}, 1'000'000, kFp32);
    request.members[0].receives = false;
    request.members[1].contributes = false;
    request.average = kHalf;
    const SharePlan plan = planned(request);
    CHECK(plan.forecast.loads[0].chunks == size_of(request).chunks);
    CHECK(seconds_of(plan.optimum) == Approx(16.0 / 10).epsilon(1e-6));
}

TEST_CASE("contributions and averages have their own codecs", "[planning]") {
    PlanRequest request = fleet_of({{4, 100, 100}}, 10'000'000, kFp32);
    request.average = kInt8;
    const double up = 320.0 / 100;  // Mbit of an encoded contribution over Mbit/s
    const double down = 320.0 / 4 * 65 / 64 / 100;
    CHECK(seconds_of(planned(request).optimum) == Approx(0.75 * (up + down)).epsilon(1e-3));
}

TEST_CASE("members with unknown bandwidth count as the mean of the others", "[planning]") {
    PlanRequest unknown = fleet_of({{4, 0, 0}, {2, 100, 300}, {2, 300, 500}}, kAlbert, kHalf);
    const PlanRequest known =
        fleet_of({{4, 200, 400}, {2, 100, 300}, {2, 300, 500}}, kAlbert, kHalf);
    CHECK(known_links(unknown) == known_links(known));
    CHECK(planned(unknown).ranges == planned(known).ranges);
    for (Member& member : unknown.members) member.upload = member.download = std::nullopt;
    CHECK(planned(unknown).ranges == equal_shares(unknown)->ranges);
    unknown.members[0].download = Bandwidth{7'000};
    CHECK(known_links(unknown)[1].upload == Bandwidth{7'000});
    CHECK(known_links(unknown)[1].download == Bandwidth{7'000});
}

TEST_CASE("the best members reduce when their number is limited", "[planning]") {
    PlanRequest request = fleet_of({{4, 50, 50}, {4, 200, 200}, {8, 100, 100}}, kAlbert, kHalf);
    request.max_reducers = 4;
    const SharePlan plan = planned(request);
    for (std::size_t k = 0; k < 16; ++k) {
        CHECK((plan.forecast.loads[k].chunks > 0) == (k >= 4 && k < 8));
    }
    // Four at 200 with a quarter each: 1 + 14/4.
    CHECK(seconds_of(plan.optimum) == Approx(288.0 / 200 * (1 + 14.0 / 4)).epsilon(1e-6));
    request.max_reducers = 1;
    CHECK(planned(request).ranges.size() == 1);
}

TEST_CASE("reducers with less to do than a latency are left out", "[planning]") {
    // The last member's own traffic takes 5.24 s of T* = 5.33 s: it has little capacity to reduce.
    PlanRequest request = fleet_of({{16, 100, 100}, {1, 55, 55}}, kAlbert, kHalf);
    const SharePlan whole = planned(request);
    CHECK(whole.forecast.loads[16].chunks > 0);
    request.latency = std::chrono::milliseconds{500};
    const SharePlan plan = planned(request);
    CHECK(plan.forecast.loads[16].chunks == 0);
    for (std::size_t k = 0; k < 16; ++k) CHECK(plan.forecast.loads[k].chunks > 0);
    CHECK(plan.optimum == whole.optimum);
    CHECK(plan.forecast.transfer <= whole.forecast.transfer + request.latency);
    CHECK(plan.forecast.round == plan.forecast.transfer + 2 * request.latency);
    // A vector that is short in relation to the latency goes to one member.
    request = fleet_of({{16, 100, 100}}, 2'000, kHalf);
    request.latency = std::chrono::milliseconds{100};
    CHECK(planned(request).ranges.size() == 1);
}

std::uint64_t chunk_of(std::uint64_t elements, std::size_t reducers,
                       const planning::WireSize& codec = kFp32) {
    return fleet_of({{reducers, 100, 100}}, elements, codec).chunk_elements;
}

TEST_CASE("chunks are small enough to share out and large enough to send", "[planning]") {
    CHECK(chunk_of(18'000'000, 16) == 16'384);
    CHECK(chunk_of(25'625'000, 8) == 32'768);
    CHECK(chunk_of(wire::kMaxElements, 1) == wire::kChunkElements);
    CHECK(chunk_of(wire::kMaxElements, 1'024) == wire::kChunkElements);
    CHECK(chunk_of(2'000, 6) == 32);
    CHECK(chunk_of(1, 1'000) == 16);
    for (const std::uint64_t elements : {1u, 17u, 999u, 65'536u, 1'000'003u, 400'000'000u}) {
        for (const std::size_t reducers : {1u, 2u, 6u, 33u, 128u}) {
            for (const std::uint64_t mbit : {1u, 100u, 1'000u, 100'000u}) {
                const std::uint64_t chunk =
                    fleet_of({{reducers, mbit, mbit}}, elements, kHalf).chunk_elements;
                CHECK(chunk >= 16);
                CHECK(chunk <= wire::kChunkElements);
                CHECK((chunk & (chunk - 1)) == 0);
                CHECK(elements / chunk <= wire::kMaxChunks);
                CHECK((chunk == 16 || elements / chunk >= 8 * reducers));
                CHECK((chunk <= 4'096 || elements / chunk >= 32 * reducers));
                CHECK((chunk <= 4'096 || mbit > 100 || elements / chunk >= 64 * reducers));
            }
        }
    }
    PlanRequest tiny = fleet_of({{6, 100, 100}}, 2'000, kFp32);
    CHECK(chunks_of(planned(tiny)) == std::vector<std::uint32_t>{11, 11, 11, 10, 10, 10});
}

TEST_CASE("chunks have whole int8 blocks", "[planning]") {
    for (std::uint64_t elements = 1; elements < 3'000'000; elements += 1 + elements / 3) {
        for (const std::size_t members : {1u, 6u, 40u}) {
            PlanRequest request = fleet_of({{members, 100, 100}}, elements, kFp32);
            request.contribution = on_the_wire(Codec::kInt8);
            CHECK(chunk_elements_for(request) % 64 == 0);
            std::swap(request.contribution, request.average);
            CHECK(chunk_elements_for(request) % 64 == 0);
        }
    }
    CHECK(chunk_elements_for(fleet_of({{6, 100, 100}}, 2'000, kFp32)) == 32);
}

TEST_CASE("chunks are larger where the slowest link is fast", "[planning]") {
    // 9,000,000 elements among 8: 16,384 on ordinary links, at most 32,768.
    CHECK(chunk_of(9'000'000, 8) == 16'384);
    const auto chunk_at = [](std::uint64_t slowest, const planning::WireSize& codec = kFp32) {
        const Group others{.count = 7, .up_mbit = 10'000, .down_mbit = 10'000};
        const Group one{.count = 1, .up_mbit = 10'000, .down_mbit = slowest};
        return fleet_of({others, one}, 9'000'000, codec).chunk_elements;
    };
    CHECK(chunk_at(100) == 16'384);
    CHECK(chunk_at(1'000) == 16'384);         // 31,250 elements a millisecond
    CHECK(chunk_at(1'000, kHalf) == 32'768);  // 62,500
    CHECK(chunk_at(1'100) == 32'768);
    CHECK(chunk_at(10'000) == 32'768);
    // No bandwidth is known: as on ordinary links.
    CHECK(fleet_of({{8, 0, 0}}, 9'000'000, kFp32).chunk_elements == 16'384);
    // A member that cannot be dialled reduces nothing, but its link carries chunks.
    const Group outbound{.count = 1, .up_mbit = 20, .down_mbit = 100, .is_reachable = false};
    CHECK(fleet_of({{7, 10'000, 10'000}, outbound}, 9'000'000, kFp32).chunk_elements == 16'384);
    CHECK(fleet_of({{7, 10'000, 10'000}}, 9'000'000, kFp32).chunk_elements == 32'768);
}
