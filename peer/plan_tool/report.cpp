// Every number comes from peer/planning; this file only asks the questions: the plan and two
// baselines, one more aggregator of three bandwidths, and the trainers' pace. The simulation is
// separate, because it takes much longer.
#include "peer/plan_tool/report.hpp"

#include <chrono>

#include "peer/base/error.hpp"

namespace dedloc::plan {
namespace {

constexpr std::uint64_t kWholeBytesPerMegabit = 125'000;

}  // namespace

Report report_on(const Fleet& fleet) {
    const planning::PlanRequest& round = fleet.training.round;
    Report report{.plan = planning::plan_shares(round).value(),
                  .equal = planning::equal_shares(round).value(),
                  .server = planning::best_parameter_server(round).value(),
                  .aggregators = {},
                  .training = std::nullopt,
                  .simulated = std::nullopt};
    if (round.members.size() < wire::kMaxMembers) {
        for (const std::uint64_t mbit : {100u, 1'000u, 10'000u}) {
            const Bandwidth bandwidth{mbit * kWholeBytesPerMegabit};
            const planning::LinkSpeed link{.upload = bandwidth, .download = bandwidth};
            report.aggregators.push_back({mbit, planning::optimum_with_aggregator(round, link)});
        }
    }
    if (fleet.training.target_batch > 0) {
        report.training = TrainingAdvice{
            .pace = planning::pace_of(fleet.training).value(),
            .choice = planning::choose_trainers(fleet.training).value(),
            .turns = planning::choose_turns(fleet_request_of(fleet)).value(),
            .batch_for_90_percent = planning::batch_for(fleet.training, 0.9).value()};
    }
    return report;
}

Report::Simulated simulated_on(const Fleet& fleet) {
    const planning::PlanRequest& round = fleet.training.round;
    if (planning::traffic_of(round).contributors == 0) {
        throw Error{"a round cannot be simulated when no peer contributes"};
    }
    SimulationOptions options;
    if (round.latency.count() > 0) options.latency = round.latency;
    Report::Simulated simulated{
        .played = simulate_rounds(round, options), .equal = {}, .server = {}};
    if (simulated.played.rounds.empty()) {
        throw Error{"the simulated swarm did not finish a round within a day"};
    }
    simulated.equal = planning::equal_shares(simulated.played.request).value();
    simulated.server = planning::best_parameter_server(simulated.played.request).value();
    return simulated;
}

const char* name_of(planning::Limit limit) {
    switch (limit) {
        case planning::Limit::kUpload:
            return "upload";
        case planning::Limit::kDownload:
            return "download";
        case planning::Limit::kNone:
            break;
    }
    return "none";
}

const char* name_of(TurnKind kind) {
    switch (kind) {
        case TurnKind::kEveryRound:
            break;
        case TurnKind::kSomeRounds:
            return "some-rounds";
        case TurnKind::kWhenDone:
            return "when-done";
        case TurnKind::kReduceOnly:
            return "reduce-only";
        case TurnKind::kRest:
            return "rest";
    }
    return "every-round";
}

const std::string& server_of(const Fleet& fleet, const Report& report) {
    return fleet.names[report.server.ranges.front().member.value()];
}

}  // namespace dedloc::plan
