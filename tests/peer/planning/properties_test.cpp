// Properties of every plan, over random fleets.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <numeric>

#include "peer/planning/baselines.hpp"
#include "tests/peer/planning/fleets.hpp"

using namespace dedloc;
using namespace dedloc::planning;

namespace {

/// Calls check(random, seed) for many seeds, or for the one in DEDLOC_SEED.
template <class Check>
void for_seeds(std::uint64_t count, Check check) {
    const char* const replay = std::getenv("DEDLOC_SEED");
    const std::uint64_t first = replay != nullptr ? std::strtoull(replay, nullptr, 10) : 0;
    const std::uint64_t last = replay != nullptr ? first + 1 : count;
    for (std::uint64_t seed = first; seed < last; ++seed) {
        Random random{seed};
        INFO("replay: DEDLOC_SEED=" << seed);
        check(random);
    }
}

SharePlan required_plan(const PlanRequest& request) {
    const auto plan = plan_shares(request);
    REQUIRE(plan);
    return *plan;
}

/// The longest time of one more chunk on any link: the possible cost of rounding.
Duration time_of_a_chunk(const PlanRequest& request) {
    const std::uint64_t bytes = std::max(request.contribution.bytes_of(request.chunk_elements),
                                         request.average.bytes_of(request.chunk_elements)) *
                                request.members.size();
    double slowest = 1e30;
    for (const LinkSpeed& link : known_links(request)) {
        const Bandwidth slower = std::min(link.upload, link.download);
        slowest = std::min(slowest, static_cast<double>(slower.value()));
    }
    return Duration{static_cast<std::int64_t>(1e9 * static_cast<double>(bytes) / slowest) + 1};
}

/// Ranges cover [0, chunks) once, in member order, each member at most once, dialled ones only.
void check_partition(const PlanRequest& request, const SharePlan& plan) {
    std::uint32_t next = 0;
    std::int64_t before = -1;
    for (const ChunkRange& range : plan.ranges) {
        CHECK(range.first_chunk == next);
        CHECK(range.last_chunk > range.first_chunk);
        CHECK(std::int64_t{range.member.value()} > before);
        CHECK(request.members[range.member.value()].is_reachable);
        before = range.member.value();
        next = range.last_chunk;
    }
    CHECK(next == size_of(request).chunks);
    CHECK(plan.ranges.size() <= request.max_reducers);
}

PlanRequest any_fleet(Random& random) {
    FleetShape shape;
    if (random.below(2) == 0) shape = {.max_members = 12, .min_elements = 1, .max_elements = 5'000};
    PlanRequest request = random_fleet(random, shape);
    if (random.below(3) == 0)
        request.max_reducers = 1 + static_cast<std::uint32_t>(random.below(6));
    return request;
}

}  // namespace

TEST_CASE("a plan covers every chunk once and its members keep to T*", "[planning][property]") {
    for_seeds(3'000, [](Random& random) {
        const PlanRequest request = any_fleet(random);
        const SharePlan plan = required_plan(request);
        check_partition(request, plan);
        CHECK(plan.forecast.transfer >= Duration{0});
        CHECK(plan.forecast.loads.size() == request.members.size());
        std::uint64_t sent = 0;
        std::uint64_t received = 0;
        for (const MemberLoad& load : plan.forecast.loads) {
            sent += load.sent.value();
            received += load.received.value();
        }
        CHECK(sent == received);
        if (plan.forecast.transfer.count() == 0) return;
        const bool somebody_limits =
            std::any_of(plan.forecast.loads.begin(), plan.forecast.loads.end(),
                        [](const MemberLoad& load) { return load.limit != Limit::kNone; });
        CHECK(somebody_limits);
    });
}

TEST_CASE("rounding to chunks costs at most a chunk", "[planning][property]") {
    for_seeds(2'000, [](Random& random) {
        const PlanRequest request = random_fleet(random);
        const SharePlan plan = required_plan(request);
        const Duration chunk = time_of_a_chunk(request);
        CHECK(plan.forecast.transfer + chunk >= plan.optimum);
        CHECK(plan.forecast.transfer <= plan.optimum + chunk);
    });
}

TEST_CASE("more bandwidth never makes T* longer", "[planning][property]") {
    for_seeds(2'000, [](Random& random) {
        PlanRequest request = any_fleet(random);
        const Duration before = required_plan(request).optimum;
        Member& member = request.members[random.below(request.members.size())];
        Bandwidth& speed = (random.below(2) == 0 ? member.upload : member.download).value();
        speed += Bandwidth{1 + random.below(2 * speed.value())};
        CHECK(required_plan(request).optimum <= before);
    });
}

TEST_CASE("the order of members changes neither T* nor who gets how much", "[planning][property]") {
    for_seeds(1'000, [](Random& random) {
        const PlanRequest request = any_fleet(random);
        std::vector<std::size_t> order(request.members.size());
        std::iota(order.begin(), order.end(), 0);
        for (std::size_t k = order.size(); k > 1; --k)
            std::swap(order[k - 1], order[random.below(k)]);
        PlanRequest shuffled = request;
        for (std::size_t k = 0; k < order.size(); ++k)
            shuffled.members[k] = request.members[order[k]];
        const SharePlan a = required_plan(request);
        const SharePlan b = required_plan(shuffled);
        CHECK(a.optimum == b.optimum);
        for (std::size_t k = 0; k < order.size(); ++k) {
            // Among equal members the earlier ones get the remaining chunks.
            const auto chunks = [&](const SharePlan& plan, std::size_t at) {
                return std::int64_t{plan.forecast.loads[at].chunks};
            };
            if (request.max_reducers < request.members.size()) continue;
            CHECK(std::llabs(chunks(b, k) - chunks(a, order[k])) <= 1);
        }
    });
}

TEST_CASE("no plan is slower than equal shares or any parameter server", "[planning][property]") {
    for_seeds(2'000, [](Random& random) {
        PlanRequest request = any_fleet(random);
        request.max_reducers = wire::kMaxReducers;
        const SharePlan plan = required_plan(request);
        // The last chunk may be short, so two plans that round alike may differ by a chunk.
        const Duration chunk = time_of_a_chunk(request);
        CHECK(plan.optimum <= equal_shares(request)->optimum + Duration{2});
        CHECK(plan.forecast.transfer <= equal_shares(request)->optimum + chunk);
        for (std::uint32_t k = 0; k < request.members.size(); ++k) {
            if (!request.members[k].is_reachable) continue;
            const Duration server = parameter_server(request, PeerIndex{k}).optimum;
            CHECK(plan.optimum <= server + Duration{2});
            CHECK(plan.forecast.transfer <= server + chunk);
        }
    });
}

TEST_CASE("no other whole number of chunks is faster", "[planning][property]") {
    // Every split of up to 12 chunks among up to 4 members.
    for_seeds(300, [](Random& random) {
        PlanRequest request = random_fleet(random, {.max_members = 4});
        const std::uint64_t chunks = 1 + random.below(12);
        request.chunk_elements = 1'024;
        request.elements = chunks * 1'024;
        const Duration planned_time = required_plan(request).forecast.transfer;
        std::vector<std::uint32_t> split(request.members.size());
        Duration best = Duration::max();
        const auto visit = [&](auto& self, std::size_t k, std::uint64_t left) -> void {
            if (k == split.size()) {
                if (left > 0) return;
                std::vector<ChunkRange> ranges;
                std::uint32_t next = 0;
                for (std::uint32_t at = 0; at < split.size(); ++at) {
                    if (split[at] > 0) ranges.push_back({PeerIndex{at}, next, next + split[at]});
                    next += split[at];
                }
                best = std::min(best, forecast(request, ranges).transfer);
                return;
            }
            const std::uint64_t max = request.members[k].is_reachable ? left : 0;
            for (std::uint64_t n = 0; n <= max; ++n) {
                split[k] = static_cast<std::uint32_t>(n);
                self(self, k + 1, left - n);
            }
        };
        visit(visit, 0, chunks);
        CHECK(planned_time <= best + Duration{2} + best / 1'000'000'000);
    });
}

TEST_CASE("no other choice of reducers is faster when their number is limited",
          "[planning][property]") {
    for_seeds(400, [](Random& random) {
        PlanRequest request = random_fleet(random, {.max_members = 7});
        request.max_reducers = 1 + static_cast<std::uint32_t>(random.below(3));
        Duration best = Duration::max();
        for (std::uint32_t chosen = 1; chosen < 1u << request.members.size(); ++chosen) {
            PlanRequest some = request;
            for (std::size_t k = 0; k < some.members.size(); ++k) {
                if ((chosen >> k & 1u) == 0) some.members[k].is_reachable = false;
            }
            const auto allowed = static_cast<int>(request.max_reducers);
            if (std::popcount(chosen) > allowed) continue;
            const auto plan = plan_shares(some);
            if (plan) best = std::min(best, plan->optimum);
        }
        CHECK(required_plan(request).optimum == best);
    });
}

// Coordinators of different machines must make the same plan of the same members.
TEST_CASE("plans have the golden bits", "[planning]") {
    std::uint64_t hash = 14'695'981'039'346'656'037u;  // FNV-1a
    const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 1'099'511'628'211u; };
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        Random random{seed};
        PlanRequest request = any_fleet(random);
        request.latency = Duration{static_cast<std::int64_t>(random.below(100'000'000))};
        const SharePlan plan = required_plan(request);
        mix(static_cast<std::uint64_t>(plan.optimum.count()));
        mix(static_cast<std::uint64_t>(plan.forecast.transfer.count()));
        for (const ChunkRange& range : plan.ranges) {
            mix(range.member.value());
            mix(range.last_chunk);
        }
    }
    CHECK(hash == 7'464'139'490'181'256'569u);
}

TEST_CASE("huge and tiny bandwidths, vectors and fleets have plans", "[planning][property]") {
    const std::uint64_t speeds[] = {1, 2, 1'000, std::uint64_t{1} << 40, UINT64_MAX};
    const std::uint64_t lengths[] = {1, 15, 16, 17, 1'000'000, wire::kMaxElements};
    const std::size_t counts[] = {1, 2, 3, 1'024};
    for (const std::uint64_t slow : speeds) {
        for (const std::uint64_t fast : speeds) {
            for (const std::uint64_t length : lengths) {
                for (const std::size_t count : counts) {
                    PlanRequest request;
                    for (std::size_t k = 0; k < count; ++k) {
                        const std::uint64_t speed = k % 2 == 0 ? slow : fast;
                        request.members.push_back(
                            {.upload = Bandwidth{speed}, .download = known_bandwidth(speed / 2)});
                    }
                    set_vector(request, length, kFp32);
                    const SharePlan plan = required_plan(request);
                    check_partition(request, plan);
                    CHECK(plan.optimum >= Duration{0});
                    CHECK(plan.forecast.transfer >= Duration{0});
                }
            }
        }
    }
}
