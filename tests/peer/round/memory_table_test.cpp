// Memory of a round by role, counted from the plans that the planner makes: the hidden case prints
// the table of README.md. No vector is allocated, so it goes to 2^32 elements.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <iterator>
#include <map>
#include <string>

#include "peer/planning/request.hpp"
#include "peer/round/plan_maker.hpp"
#include "peer/round/reduction.hpp"
#include "peer/round/relays.hpp"

using namespace dedloc;
using namespace dedloc::round;

namespace {

constexpr std::uint64_t kMegabit = 125'000;
constexpr double kGigabyte = 1e9;

/// What a member does in the table's fleet.
enum class Kind { kCoordinator, kAggregator, kTrainer };

/// A backbone with 1 Gbit/s coordinates, every 64th member is an aggregator with 1 Gbit/s, and the
/// trainers have home links; a third of them cannot be dialled.
struct Fleet {
    Fleet(std::size_t members, std::uint64_t elements) {
        rules.elements = elements;
        rules.codec = Codec::kFp16;
        for (std::size_t k = 0; k < members; ++k) add(k);
        const auto made = make_plan(rules, {.number = 1, .coordinator = key_of(0)}, 1,
                                    {.learning_rate = 0}, callees, Veterans{});
        REQUIRE(made);
        plan = made->plan;
        for (std::uint32_t k = 0; k < plan.members.size(); ++k) {
            contributors += plan.members[k].samples > Samples{0} ? 1 : 0;
        }
    }
    void add(std::size_t k) {
        const Kind kind = kind_of(k);
        const std::uint64_t up[] = {200, 10, 20, 20};
        const std::uint64_t down[] = {200, 50, 100, 100};
        const bool is_home = kind == Kind::kTrainer;
        wire::Join join;
        join.samples = Samples{is_home ? 8U : 0U};
        join.receives = kind != Kind::kAggregator;
        join.upload = Bandwidth{(is_home ? up[k % 4] : 1'000) * kMegabit};
        join.download = Bandwidth{(is_home ? down[k % 4] : 1'000) * kMegabit};
        join.exponent = 127;
        const bool can_be_dialled = !is_home || k % 3 != 2;
        callees[key_of(k)] = {
            .join = join,
            .endpoint = {"10.0.0.1", static_cast<std::uint16_t>(can_be_dialled ? 1 : 0)}};
    }
    static Kind kind_of(std::size_t k) {
        if (k == 0) return Kind::kCoordinator;
        return k % 64 == 1 && k > 1 ? Kind::kAggregator : Kind::kTrainer;
    }
    static PeerKey key_of(std::size_t k) {
        PeerKey key;
        key.bytes[0] = static_cast<std::byte>(k >> 8);
        key.bytes[1] = static_cast<std::byte>(k & 255);
        return key;
    }
    /// Most elements that one member of this kind reduces.
    std::uint64_t largest_part(Kind kind) const {
        const auto reduced = wire::reduced_elements(plan);
        std::uint64_t max = 0;
        for (std::size_t k = 0; k < reduced.size(); ++k) {
            if (kind_of(k) == kind) max = std::max(max, reduced[k]);
        }
        return max;
    }

    RoundRules rules;
    std::map<PeerKey, Callee> callees;
    wire::Plan plan;
    std::uint64_t contributors = 0;
};

/// Vectors of N floats that a peer of this kind holds in a round, without slices.
double vectors_of(Kind kind) {
    const double state = RoundRules{}.state_vectors;
    const double kept = RoundRules{}.kept_averages;
    switch (kind) {
        case Kind::kTrainer:
            return state + kept + 4;  // sum, contribution, residual, average
        case Kind::kCoordinator:
            return state + kept + 1 + state;  // average; packed averages up to a state
        case Kind::kAggregator:
            return 1;  // the average, of which it touches its part
    }
    return 0;
}

void print_row(const Fleet& fleet, Kind kind, const char* name) {
    const auto on_wire = planning::on_the_wire(fleet.rules.codec);
    const auto others = fleet.contributors - (kind == Kind::kTrainer ? 1 : 0);
    const std::uint64_t part = fleet.largest_part(kind);
    const double all = static_cast<double>(on_wire.bytes_of(part) * others);
    const double chunks =
        2.0 * static_cast<double>(on_wire.bytes_of(fleet.plan.chunk_elements) * others);
    const double now =
        std::min(all, std::min(all, static_cast<double>(fleet.rules.kept_slice_bytes)) + chunks);
    // One contributor is far behind: a window of each of the others waits for it.
    const std::uint64_t window =
        Reduction::window_of(fleet.plan, fleet.rules.codec, fleet.rules.kept_slice_bytes);
    const double waiting = static_cast<double>(
        on_wire.bytes_of(std::min(part, window * fleet.plan.chunk_elements)) * others);
    const double slowest =
        std::min(all, std::min(all, static_cast<double>(fleet.rules.kept_slice_bytes)) + waiting);
    const double elements = static_cast<double>(fleet.rules.elements);
    std::printf("| %s | %zu | %.0f M | %.2f | %.1f %% | %.2f | %.2f | %.2f |\n", name,
                fleet.plan.members.size(), elements * 1e-6,
                4 * elements * vectors_of(kind) / kGigabyte,
                100 * static_cast<double>(part) / elements, all / kGigabyte, now / kGigabyte,
                slowest / kGigabyte);
}

}  // namespace

TEST_CASE("memory by role", "[.table]") {
    std::printf(
        "| role | members | elements | vectors, GB | largest part | slices until the "
        "commit, GB | slices now, GB | one far behind, GB |\n|---|---|---|---|---|---|---|---|\n");
    const std::pair<Kind, const char*> kinds[] = {{Kind::kTrainer, "trainer"},
                                                  {Kind::kAggregator, "aggregator"},
                                                  {Kind::kCoordinator, "coordinator"}};
    for (const std::uint64_t elements :
         {std::uint64_t{18'000'000}, std::uint64_t{335'000'000}, std::uint64_t{1} << 32}) {
        for (const std::size_t members : {16U, 100U, 1'000U}) {
            const Fleet fleet{members, elements};
            for (const auto& [kind, name] : kinds) {
                if (kind == Kind::kAggregator && members < 66) continue;
                print_row(fleet, kind, name);
            }
        }
    }
}
