#include "project_server/views/runs.hpp"

#include <algorithm>

#include "project_server/database/evaluations.hpp"
#include "project_server/views/held_out.hpp"

namespace dedloc::server {
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

/// The last evaluation, and as many of the others as the curve and the table can show.
void add_held_out(json::Value& data, Database& database, std::int64_t run) {
    const std::vector<EvaluationRow> rows = read_evaluations(database, run);
    if (rows.empty()) return;
    data.set("held_out", held_out_data(rows.back()));
    json::Value::List points;
    json::Value::List table;
    const std::size_t stride = std::max<std::size_t>(1, rows.size() / kHeldOutPoints);
    const std::size_t table_stride = (rows.size() + kMeasurements - 1) / kMeasurements;
    for (std::size_t at = 0; at < rows.size(); ++at) {
        const EvaluationRow& row = rows[at];
        const bool is_last = at + 1 == rows.size();
        if (at % stride == 0 || is_last) {
            points.emplace_back(
                json::Value::List{row.step, row.loss, row.masked_accuracy, row.order_accuracy});
        }
        if (at % table_stride == 0 || is_last) table.push_back(held_out_data(row));
    }
    data.set("held_out_curve", std::move(points)).set("measurements", std::move(table));
}

}  // namespace

json::Value::List run_list(Database& database) {
    json::Value::List runs;
    for (const Row& row :
         database.query("select r.name, r.state, r.steps, coalesce(s.step, 0) as step, s.loss, "
                        "e.step as held_out_step, e.loss as held_out_loss, e.masked_accuracy, "
                        "e.order_accuracy from dedloc_run r "
                        "left join dedloc_step s on s.runid = r.id and s.step = "
                        "(select max(step) from dedloc_step where runid = r.id) "
                        "left join dedloc_evaluation e on e.runid = r.id and e.step = "
                        "(select v.step from dedloc_evaluation v left join dedloc_step p on "
                        "p.runid = v.runid and p.step = v.step where v.runid = r.id and "
                        "(v.step = 0 or p.digest = v.digest) order by v.step desc limit 1) "
                        "order by r.id desc limit 100")) {
        json::Value run;
        run.set("name", row.text("name"))
            .set("state", row.text("state"))
            .set("step", row.integer("step"))
            .set("steps", row.integer("steps"))
            .set("has_steps", row.integer("step") > 0)
            .set("loss", row.real("loss"));
        if (!row.is_null("held_out_step")) {
            json::Value held_out;
            held_out.set("step", row.integer("held_out_step"))
                .set("loss", row.real("held_out_loss"))
                .set("masked_accuracy", row.real("masked_accuracy"))
                .set("order_accuracy", row.real("order_accuracy"));
            run.set("held_out", std::move(held_out));
        } else {
            run.set("held_out", false);
        }
        runs.push_back(std::move(run));
    }
    return runs;
}

std::optional<json::Value> run_data(Database& database, RunHistories& histories,
                                    const std::string& name, double now) {
    const auto run = database.query_one(
        "select id, name, state, steps, target_batch, credit_per_sample, "
        "credit_per_gigabyte_reduced, final_digest from dedloc_run where name = ?",
        {name});
    if (!run) return std::nullopt;
    const std::int64_t id = run->integer("id");
    // The newest step whose members have reported their digests.
    const auto last = database.query_one(
        "select step, loss, digest, members, equal_digests, seconds, learning_rate "
        "from dedloc_step where runid = ? and equal_digests > 0 order by step desc limit 1",
        {id});
    const RunCurve curve = histories.read(database, id);
    json::Value data;
    data.set("name", run->text("name"))
        .set("state", run->text("state"))
        .set("steps", run->integer("steps"))
        .set("target_batch", run->integer("target_batch"))
        .set("credit_per_sample", run->real("credit_per_sample"))
        .set("credit_per_gigabyte_reduced", run->real("credit_per_gigabyte_reduced"))
        .set("final_digest", run->text("final_digest"))
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
    add_held_out(data, database, id);
    add_peers(data, database, id, now);
    return data;
}

}  // namespace dedloc::server
