// run_data() reads the run, its newest step with digests, the curve, of which RunHistories
// keeps all but the new steps in memory, the evaluations and the peers. Evaluations are thinned to
// an even stride, and the last one always stays. Outer joins from a peer's key over its ticket and
// result lead to its user, and yield nothing if that user does not show computers, so what is
// hidden is never read.
#include "project_server/views/runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "peer/base/error.hpp"
#include "project_server/database/evaluations.hpp"
#include "project_server/views/answers.hpp"
#include "project_server/views/held_out.hpp"

namespace dedloc::server {

using formats::FigurePlace;

namespace {

constexpr std::size_t kHeldOutPoints = 600;
constexpr std::size_t kMeasurements = 20;
constexpr double kForgottenAfter = 3600;  // seconds that a peer stays on the page after it has left
constexpr int kMaxPeers = 500;

json::Value::List curve_points(const RunCurve& curve) {
    json::Value::List points;
    points.reserve(curve.points.size());
    for (const CurvePoint& point : curve.points) {
        points.emplace_back(json::Value::List{point.step, point.loss, point.samples_per_second,
                                              point.members, point.computed_bytes});
    }
    return points;
}

json::Value peer(const Row& row, double now) {
    json::Value data;
    data.set("key", row.text("peer_key").substr(0, 8))
        .set("user_id", row.integer("userid"))
        .set("user", row.text("user_name"))
        .set("host", row.integer("hostid"))
        .set("is_shown", !row.is_null("userid"))
        .set("has_ticket", !row.is_null("resultid"))
        .set("role", row.text("role"))
        .set("state", row.text("state"))
        .set("step", row.integer("step"))
        .set("samples_per_second",
             row.text("state") == "working" ? row.real("samples_per_second") : 0.0)
        .set("digest", row.text("digest"))
        .set("short_digest", row.text("digest").substr(0, 8))
        .set("seen_seconds_ago", std::max(0.0, now - row.real("last_seen")));
    return data;
}

/// Adds the peers and the samples per second of those that work. What a peer claims to be
/// (dedloc_seat.result_name) is not used: the project's ticket says which result its key belongs
/// to.
void add_peers(json::Value& data, Database& database, std::int64_t run, double now) {
    double rate = 0;
    std::int64_t working = 0;
    json::Value::List peers;
    for (const Row& row : database.query(
             "select s.peer_key, s.role, s.state, s.step, s.samples_per_second, s.digest, "
             "s.last_seen, t.resultid, u.id as userid, u.name as user_name, "
             "if(u.id is null, 0, r.hostid) as hostid from dedloc_seat s "
             "left join dedloc_ticket t on t.runid = s.runid and t.peer_key = s.peer_key "
             "left join result r on r.id = t.resultid "
             "left join user u on u.id = r.userid and u.show_hosts = 1 "
             "where s.runid = ? and (s.state in ('joining', 'working') or s.last_seen > ?) "
             "order by s.first_seen limit ?",
             {run, now - kForgottenAfter, kMaxPeers})) {
        if (row.text("state") == "working") {
            rate += row.real("samples_per_second");
            ++working;
        }
        peers.push_back(peer(row, now));
    }
    data.set("peers", std::move(peers))
        .set("working_peers", working)
        .set("samples_per_second", rate);
}

/// [step, loss, each headline figure].
json::Value held_out_point(const EvaluationRow& row, std::string_view architecture) {
    json::Value::List point{row.step, row.loss};
    for (const auto& kind : formats::figures_of(architecture)) {
        if (kind.place < FigurePlace::kHeadline) continue;
        point.push_back(figure_value(row.figures, kind.name));
    }
    return point;
}

/// A row of the table.
json::Value measurement(const EvaluationRow& row, std::string_view architecture,
                        std::span<const formats::SourceLoss> sources) {
    json::Value data = held_out_data(row, architecture);
    auto cells = figure_list(architecture, row.figures, FigurePlace::kTable);
    for (json::Value& cell : source_list(architecture, sources, row.figures)) {
        cells.push_back(std::move(cell));
    }
    return data.set("cells", std::move(cells));
}

/// [step, held-out loss of each of the sources].
json::Value source_point(const EvaluationRow& row, std::span<const formats::SourceLoss> sources) {
    json::Value::List point{row.step};
    for (const formats::SourceLoss& source : sources) {
        point.push_back(figure_value(row.figures, formats::source_loss_name(source.source)));
    }
    return point;
}

/// The last evaluation, and as many of the others as the curve and the table can show.
void add_held_out(json::Value& data, Database& database, const RunView& run) {
    const std::string& architecture = run.architecture;
    const std::vector<EvaluationRow> rows = read_evaluations(database, run.id);
    add_figure_words(data, architecture, rows.empty() ? nullptr : &rows.back());
    if (rows.empty()) return;
    add_answers(data, database, run.id, rows);
    data.set("held_out", held_out_data(rows.back(), architecture));
    json::Value::List points;
    json::Value::List source_points;
    json::Value::List table;
    const auto sources = formats::source_losses(rows.back().figures);
    const std::size_t stride = std::max<std::size_t>(1, rows.size() / kHeldOutPoints);
    const std::size_t table_stride = (rows.size() + kMeasurements - 1) / kMeasurements;
    for (std::size_t at = 0; at < rows.size(); ++at) {
        const EvaluationRow& row = rows[at];
        const bool is_last = at + 1 == rows.size();
        if (at % stride == 0 || is_last) {
            points.push_back(held_out_point(row, architecture));
            source_points.push_back(source_point(row, sources));
        }
        if (at % table_stride == 0 || is_last) {
            table.push_back(measurement(row, architecture, sources));
        }
    }
    data.set("held_out_curve", std::move(points)).set("measurements", std::move(table));
    if (sources.empty()) return;
    json::Value::List names;
    for (const formats::SourceLoss& source : sources) names.emplace_back(source.source);
    data.set("sources", std::move(names)).set("source_curve", std::move(source_points));
}

/// Adds the figures of the last evaluations, all in one message.
void add_figures(Database& database, std::vector<RunView>& runs) {
    std::vector<std::pair<std::int64_t, std::uint64_t>> places;
    for (const RunView& run : runs) {
        if (run.held_out) places.emplace_back(run.id, run.held_out->step);
    }
    auto figures = read_figures(database, places);
    auto next = figures.begin();
    for (RunView& run : runs) {
        if (run.held_out) run.held_out->figures = std::move(*next++);
    }
}

}  // namespace

std::vector<RunView> read_runs(Database& database, const RunChoice& choice) {
    std::vector<RunView> runs;
    for (const Row& row : database.query(
             "select d.id, d.name, d.state, d.created, d.steps, d.target_batch, "
             "d.credit_per_sample, d.credit_per_gigabyte_reduced, d.final_digest, s.step, s.loss, "
             "s.committed_at, d.architecture, e.step as held_out_step, e.loss as held_out_loss "
             "from dedloc_run d "
             "left join dedloc_step s on s.runid = d.id and s.step = "
             "(select max(step) from dedloc_step where runid = d.id) "
             "left join dedloc_evaluation e on e.runid = d.id and e.step = "
             "(select v.step from dedloc_evaluation v left join dedloc_step p on "
             "p.runid = v.runid and p.step = v.step where v.runid = d.id and "
             "(v.step = 0 or p.digest = v.digest) order by v.step desc limit 1) "
             "where (? or d.name = ?) and (? = 0 or d.state <> 'finished') "
             "order by d.id desc limit ?",
             {!choice.name, choice.name.value_or(""), choice.is_unfinished, choice.limit})) {
        RunView run{.id = row.integer("id"),
                    .name = row.text("name"),
                    .state = row.text("state"),
                    .created = row.real("created"),
                    .step = row.integer("step"),
                    .steps = row.integer("steps"),
                    .target_batch = row.integer("target_batch"),
                    .recorded = row.real("committed_at"),
                    .credit_per_sample = row.real("credit_per_sample"),
                    .credit_per_gigabyte_reduced = row.real("credit_per_gigabyte_reduced"),
                    .final_digest = row.text("final_digest"),
                    .architecture = row.text("architecture")};
        if (!row.is_null("step")) run.loss = row.real("loss");
        if (!row.is_null("held_out_step")) {
            run.held_out = {.step = static_cast<std::uint64_t>(row.integer("held_out_step")),
                            .loss = row.real("held_out_loss")};
        }
        runs.push_back(std::move(run));
    }
    add_figures(database, runs);
    return runs;
}

RunView read_run(Database& database, const std::string& name) {
    const auto found = read_runs(database, {.name = name});
    if (found.empty()) throw InputError(fmt::format("the project has no run {}", name));
    return found.front();
}

RunPeers read_peers(Database& database, std::int64_t run) {
    const auto row = database.query_one(
        "select coalesce(sum(state = 'joining'), 0) as joining, "
        "coalesce(sum(state = 'working'), 0) as working, "
        "coalesce(sum(if(state = 'working', samples_per_second, 0)), 0) as rate, "
        "coalesce(sum(state = 'working' and role = 'trainer'), 0) as trainers, "
        "coalesce(sum(if(state = 'working' and role = 'trainer', samples_per_second, 0)), 0) as "
        "trainer_rate from dedloc_seat where runid = ? and state in ('joining', 'working')",
        {run});
    return {.joining = row->integer("joining"),
            .working = row->integer("working"),
            .samples_per_second = row->real("rate"),
            .trainers = row->integer("trainers"),
            .trainer_samples_per_second = row->real("trainer_rate")};
}

json::Value run_summary(const RunView& run) {
    json::Value data;
    data.set("name", run.name)
        .set("state", run.state)
        .set("step", run.step)
        .set("steps", run.steps)
        .set("has_steps", run.loss.has_value())
        .set("loss", run.loss.value_or(0));
    if (!run.held_out) return data.set("held_out", false);
    const std::vector<formats::MeasuredFigure>& figures = run.held_out->figures;
    json::Value held_out;
    held_out.set("step", run.held_out->step).set("loss", run.held_out->loss);
    for (const auto& kind : formats::figures_of(run.architecture)) {
        if (kind.place < FigurePlace::kHeadline) continue;
        held_out.set(kind.name, figure_value(figures, kind.name));
    }
    held_out.set("figures", figure_list(run.architecture, figures, FigurePlace::kHeadline));
    return data.set("held_out", std::move(held_out));
}

json::Value::List run_summaries(Database& database) {
    json::Value::List list;
    for (const RunView& run : read_runs(database, {})) list.push_back(run_summary(run));
    return list;
}

json::Value run_list(Database& database) {
    json::Value::List list;
    auto runs = read_runs(database, {.limit = std::numeric_limits<int>::max()});
    std::ranges::reverse(runs);
    for (const RunView& run : runs) {
        const RunPeers peers = read_peers(database, run.id);
        json::Value data;
        data.set("name", run.name)
            .set("state", run.state)
            .set("step", run.step)
            .set("steps", run.steps)
            .set("target_batch", run.target_batch)
            .set("loss", run.loss.value_or(0))
            .set("peers", peers.trainers)
            .set("samples_per_second", peers.trainer_samples_per_second)
            .set("credit_per_sample", run.credit_per_sample)
            .set("credit_per_gigabyte_reduced", run.credit_per_gigabyte_reduced)
            .set("created_at", run.created)
            .set("recorded_at", run.recorded);
        list.push_back(std::move(data));
    }
    json::Value data;
    return data.set("runs", std::move(list));
}

std::optional<json::Value> run_data(Database& database, RunHistories& histories,
                                    const std::string& name, double now) {
    const auto found = read_runs(database, {.name = name});
    if (found.empty()) return std::nullopt;
    const RunView& run = found.front();
    // The newest step whose members have reported their digests.
    const auto last = database.query_one(
        "select step, loss, digest, members, equal_digests, seconds, learning_rate "
        "from dedloc_step where runid = ? and equal_digests > 0 order by step desc limit 1",
        {run.id});
    const RunCurve curve = histories.read(database, run.id);
    json::Value data;
    data.set("name", run.name)
        .set("state", run.state)
        .set("steps", run.steps)
        .set("target_batch", run.target_batch)
        .set("credit_per_sample", run.credit_per_sample)
        .set("credit_per_gigabyte_reduced", run.credit_per_gigabyte_reduced)
        .set("final_digest", run.final_digest)
        .set("has_steps", last.has_value())
        .set("step", last ? last->integer("step") : 0)
        .set("samples", curve.samples)
        .set("loss", last ? last->real("loss") : 0.0)
        .set("learning_rate", last ? last->real("learning_rate") : 0.0)
        .set("seconds", last ? last->real("seconds") : 0.0)
        .set("digest", last ? last->text("digest") : "")
        .set("members", last ? last->integer("members") : 0)
        .set("equal_digests", last ? last->integer("equal_digests") : 0)
        .set("curve", curve_points(curve));
    add_held_out(data, database, run);
    add_peers(data, database, run.id, now);
    return data;
}

}  // namespace dedloc::server
