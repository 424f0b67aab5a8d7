#include "project_server/web/live_runs.hpp"

#include <utility>

#include "project_server/views/held_out.hpp"
#include "project_server/views/runs.hpp"

namespace dedloc::server {
namespace {

json::Value summary_of(const control::Snapshot& picture) {
    RunView run{.name = picture.run,
                .state = name_of(picture.state),
                .step = static_cast<std::int64_t>(picture.progress.step),
                .steps = static_cast<std::int64_t>(picture.steps)};
    if (!picture.recent.empty()) run.loss = picture.recent.back().loss;
    return run_summary(run);
}

}  // namespace

json::Value::List live_run_list(const std::vector<control::Snapshot>& pictures) {
    json::Value::List runs;
    for (const control::Snapshot& picture : pictures) runs.push_back(summary_of(picture));
    return runs;
}

json::Value live_run_data(const control::Snapshot& picture) {
    json::Value::List curve;
    for (const control::StepView& step : picture.recent) {
        const double rate =
            step.seconds > 0 ? static_cast<double>(step.samples) / step.seconds : 0.0;
        curve.emplace_back(json::Value::List{static_cast<std::int64_t>(step.step), step.loss, rate,
                                             static_cast<std::int64_t>(step.members), 0.0});
    }
    json::Value run = summary_of(picture);
    run.set("without_database", true)
        .set("target_batch", static_cast<std::int64_t>(picture.target_batch))
        .set("samples_per_second", picture.progress.samples_per_second)
        .set("working_peers", static_cast<std::int64_t>(picture.progress.trainers))
        .set("curve", std::move(curve))
        .set("peers", json::Value::List{});
    add_figure_words(run, {}, nullptr);
    return run;
}

}  // namespace dedloc::server
