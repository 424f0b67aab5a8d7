#include "project_server/plan/report.hpp"

#include <chrono>

namespace dedloc::plan {
namespace {

constexpr std::uint64_t kBytesPerMegabit = 125'000;

}  // namespace

Report report_on(const Fleet& fleet) {
    const planning::PlanRequest& round = fleet.training.round;
    Report report{.plan = planning::plan_shares(round).value(),
                  .equal = planning::equal_shares(round).value(),
                  .server = planning::best_parameter_server(round).value(),
                  .aggregators = {},
                  .training = std::nullopt};
    if (round.members.size() < wire::kMaxMembers) {
        for (const std::uint64_t mbit : {100u, 1'000u, 10'000u}) {
            const planning::LinkSpeed link{mbit * kBytesPerMegabit, mbit * kBytesPerMegabit};
            report.aggregators.push_back({mbit, planning::optimum_with_aggregator(round, link)});
        }
    }
    if (fleet.training.target_batch > 0) {
        report.training = TrainingAdvice{
            .pace = planning::pace_of(fleet.training).value(),
            .choice = planning::choose_trainers(fleet.training).value(),
            .batch_for_90_percent = planning::batch_for(fleet.training, 0.9).value()};
    }
    return report;
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

double seconds_of(Duration time) {
    return std::chrono::duration<double>(time).count();
}

const std::string& server_of(const Fleet& fleet, const Report& report) {
    return fleet.names[report.server.ranges.front().member.value()];
}

}  // namespace dedloc::plan
