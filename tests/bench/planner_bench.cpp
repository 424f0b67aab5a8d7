// The planner: its time compared with a general LP solver's on the same fleets, and its plans
// compared with equal shares, a parameter server and simulated rounds on fleets from the
// literature. Prints, asserts nothing.
//
//     planner_bench
#include <chrono>
#include <cstdio>
#include <future>
#include <string>

#include "peer/plan_tool/simulated_rounds.hpp"
#include "peer/planning/baselines.hpp"
#include "tests/peer/planning/fleets.hpp"
#include "tests/peer/planning/lp_reference.hpp"

namespace {

using namespace dedloc;
using namespace dedloc::planning;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kResNet = 25'625'000;  // 410 Mbit in fp16
constexpr std::uint64_t kPacketBytes = 1'448;
constexpr std::uint64_t kAlbert = 18'000'000;  // 288 Mbit in fp16

/// The fastest of several calls, in milliseconds.
template <class Call>
double best_milliseconds(int calls, Call call) {
    double best = 1e30;
    for (int k = 0; k < calls; ++k) {
        const auto begin = Clock::now();
        call();
        const std::chrono::duration<double, std::milli> took = Clock::now() - begin;
        best = std::min(best, took.count());
    }
    return best;
}

/// Trainers and aggregators at 50 to 100 Mbit/s, none so slow that its own traffic alone determines
/// the time, so that the solver must balance all shares.
PlanRequest fleet_with(std::size_t members) {
    Random random{members};
    PlanRequest request;
    for (std::size_t k = 0; k < members; ++k) {
        const bool is_trainer = random.below(8) != 0;
        request.members.push_back({.upload = Bandwidth{(50 + random.below(51)) * kMegabit},
                                   .download = Bandwidth{(50 + random.below(51)) * kMegabit},
                                   .contributes = is_trainer,
                                   .receives = is_trainer,
                                   .is_reachable = random.below(4) != 0});
    }
    set_vector(request, kAlbert, kHalf);
    request.latency = std::chrono::milliseconds{50};
    return request;
}

void print_times() {
    std::printf("time of one plan, ms, fastest of several      %s\n",
                has_lp_solver() ? "" : "(Clp is not installed)");
    std::printf("%8s %12s %14s %12s %12s\n", "peers", "planner", "amend a loss", "Clp's dual",
                "T* / Clp's");
    for (const std::size_t members : {16u, 64u, 256u, 1'000u}) {
        PlanRequest request = fleet_with(members);
        const auto plan = plan_shares(request);
        const double planner = best_milliseconds(20, [&] { (void)plan_shares(request).value(); });
        const std::vector<PeerIndex> lost{plan->ranges.front().member};
        const double amend =
            best_milliseconds(20, [&] { (void)reassign(request, plan->ranges, lost).value(); });
        std::printf("%8zu %12.3f %14.3f", members, planner, amend);
        if (has_lp_solver()) {
            double optimum = 0;
            const double clp =
                best_milliseconds(5, [&] { optimum = lp_optimum_seconds(request).value_or(0); });
            request.max_reducers = wire::kMaxMembers;  // the linear program has no such limit
            const double exact =
                std::chrono::duration<double>(plan_shares(request)->optimum).count();
            std::printf(" %12.3f %12.9f", clp, exact / optimum);
        }
        std::printf("\n");
    }
}

struct NamedFleet {
    const char* name;
    PlanRequest request;
};

std::vector<NamedFleet> fleets_of_the_literature() {
    return {
        {"8 x 1000", fleet_of({{8, 1'000, 1'000}}, kResNet, kHalf)},
        {"16 x 200", fleet_of({{16, 200, 200}}, kResNet, kHalf)},
        {"8 x 1000 + 16 x 200", fleet_of({{8, 1'000, 1'000}, {16, 200, 200}}, kResNet, kHalf)},
        {"16 x 200 + aggregator 2500",
         fleet_of({{16, 200, 200}, {1, 2'500, 2'500, false}}, kResNet, kHalf)},
        {"4 x 200 + 8 x 100 + 4 x 50",
         fleet_of({{4, 200, 200}, {8, 100, 100}, {4, 50, 50}}, kAlbert, kHalf)},
        {"8 + 8 outbound 20/100 + 2 agg. 1000",
         fleet_of({{8, 20, 100}, {8, 20, 100, true, false}, {2, 1'000, 1'000, false}}, kAlbert,
                  kHalf)},
    };
}

void print_plans() {
    std::printf(
        "\nseconds a round, by the model of peer/planning (Mbit/s up and down; upload/download)\n");
    std::printf("%-36s %9s %9s %9s %9s %9s\n", "fleet", "T*", "plan", "plan/T*", "equal", "server");
    for (const NamedFleet& fleet : fleets_of_the_literature()) {
        const auto plan = plan_shares(fleet.request);
        std::printf("%-36s %9.3f %9.3f %9.4f %9.3f %9.3f\n", fleet.name, seconds_of(plan->optimum),
                    seconds_of(plan->forecast.transfer),
                    seconds_of(plan->forecast.transfer) / seconds_of(plan->optimum),
                    seconds_of(equal_shares(fleet.request)->forecast.transfer),
                    seconds_of(best_parameter_server(fleet.request)->forecast.transfer));
    }
}

constexpr Duration kLatency = std::chrono::milliseconds{20};
/// Consecutive latencies while no link is busy: Join, Plan, the last chunk …
constexpr int kMessagesOfRound = 3;
/// … and Ready, Propose, Accept, Commit.
constexpr int kMessagesOfStep = 7;

std::string simulated_line(const NamedFleet& fleet) {
    const auto played = plan::simulate_rounds(fleet.request, {.latency = kLatency});
    char line[200];
    if (played.rounds.empty()) {
        std::snprintf(line, sizeof line, "%-36s did not finish a round\n", fleet.name);
        return line;
    }
    const plan::SimulatedRound& round = played.rounds.front();
    const double best = seconds_of(played.plan.optimum);
    std::snprintf(line, sizeof line,
                  "%-36s %8.3f %8.3f %8.3f %8.3f %8.3f %8.3f %8.3f %8.3f %9.3f %9.3f\n", fleet.name,
                  best, seconds_of(round.moved), seconds_of(round.committed),
                  seconds_of(round.moved - round.planned) / best, seconds_of(round.moved) / best,
                  seconds_of(round.committed) / best,
                  seconds_of(played.plan.optimum + kMessagesOfRound * kLatency) / best,
                  seconds_of(played.plan.optimum + kMessagesOfStep * kLatency) / best,
                  seconds_of(equal_shares(played.request)->forecast.transfer),
                  seconds_of(best_parameter_server(played.request)->forecast.transfer));
    return line;
}

/// Every world has its own thread; two run at a time, because of their memory.
void print_simulated() {
    std::printf(
        "\nseconds a round as the protocol plays it in the simulated world: fp32 frames, %.0f ms "
        "one way, and a\n"
        "backbone that receives as well (the aggregator, where there is one)\n"
        "  round  from the last freeze until every receiver has the whole average\n"
        "  step   from the last freeze until all hold the next state\n"
        "  data   from the plan's being sent until every receiver has the whole average\n"
        "  +3, +7 T* and so many messages, one after the other, while no link is busy: no round "
        "(+3) "
        "and no\n         step (+7) can be shorter\n",
        1e3 * seconds_of(kLatency));
    std::printf("%-36s %8s %8s %8s %8s %8s %8s %8s %8s %9s %9s\n", "fleet", "T*", "round", "step",
                "data/T*", "round/T*", "step/T*", "+3/T*", "+7/T*", "equal", "server");
    const auto fleets = fleets_of_the_literature();
    for (std::size_t k = 0; k < fleets.size(); k += 2) {
        auto first = std::async(std::launch::async, [&] { return simulated_line(fleets[k]); });
        const std::string second =
            k + 1 < fleets.size() ? simulated_line(fleets[k + 1]) : std::string{};
        std::printf("%s%s", first.get().c_str(), second.c_str());
        std::fflush(stdout);
    }
}

/// A round of eight homes as the protocol plays it over a lossy path.
std::string far_line(double loss, std::uint32_t flows, Duration one_way) {
    const NamedFleet homes{"8 x 20/100", fleet_of({{8, 20, 100}}, kAlbert, kHalf)};
    constexpr std::uint32_t kRounds = 3;
    const auto played = plan::simulate_rounds(
        homes.request, {.rounds = kRounds,
                        .latency = one_way,
                        .tcp = {.packet_bytes = kPacketBytes, .loss = loss, .flows = flows}});
    double sum = 0;
    for (const auto& round : played.rounds) sum += seconds_of(round.moved);
    char line[200];
    std::snprintf(
        line, sizeof line, "%10.0f %9.2f %9u %9.2f %9.2f %9.2f\n", 2e3 * seconds_of(one_way),
        100 * loss, flows, seconds_of(played.plan.optimum),
        sum / static_cast<double>(played.rounds.size()),
        sum / static_cast<double>(played.rounds.size()) / seconds_of(played.plan.optimum));
    return played.rounds.size() == kRounds ? line : "a round did not end\n";
}

void print_far() {
    std::printf(
        "\nmean of three rounds of 8 homes with 20 Mbit/s up and 100 down, over a path that loses "
        "packets\n%10s %9s %9s %9s %9s %9s\n",
        "RTT, ms", "lost, %", "flows", "T*", "round", "round/T*");
    for (const auto one_way : {std::chrono::milliseconds{20}, std::chrono::milliseconds{100}}) {
        for (const double loss : {0.0, 0.001, 0.01}) {
            auto first = std::async(std::launch::async, [&] { return far_line(loss, 1, one_way); });
            const std::string second = loss > 0 ? far_line(loss, 4, one_way) : std::string{};
            std::printf("%s%s", first.get().c_str(), second.c_str());
            std::fflush(stdout);
        }
    }
}

}  // namespace

int main() {
    print_times();
    print_plans();
    print_simulated();
    print_far();
    return 0;
}
