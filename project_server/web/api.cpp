#include "project_server/web/api.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <vector>

#include "project_server/database/evaluations.hpp"
#include "project_server/web/run_summaries.hpp"

namespace dedloc::server {
namespace {

constexpr int kCurvePoints = 600;
constexpr double kForgottenAfter = 3600;  // seconds that a peer stays on the page after it has left
constexpr int kMaxPeers = 500;

class Json {
  public:
    void begin() { writer_.StartObject(); }
    void end() { writer_.EndObject(); }
    void object(const char* name) {
        writer_.Key(name);
        writer_.StartObject();
    }
    void list(const char* name) {
        writer_.Key(name);
        writer_.StartArray();
    }
    void end_list() { writer_.EndArray(); }
    void begin_list() { writer_.StartArray(); }
    void text(const char* name, const std::string& value) {
        writer_.Key(name);
        writer_.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
    }
    void integer(const char* name, std::int64_t value) {
        writer_.Key(name);
        writer_.Int64(value);
    }
    void real(const char* name, double value) {
        writer_.Key(name);
        writer_.Double(value);
    }
    void item(std::int64_t value) { writer_.Int64(value); }
    void item(double value) { writer_.Double(value); }
    std::string finish() const { return {buffer_.GetString(), buffer_.GetSize()}; }

  private:
    rapidjson::StringBuffer buffer_;
    rapidjson::Writer<rapidjson::StringBuffer> writer_{buffer_};
};

void add_curve(Json& json, Database& database, std::int64_t run, std::int64_t last_step) {
    const std::int64_t stride = std::max<std::int64_t>(1, last_step / kCurvePoints);
    json.list("curve");
    for (const Row& row : database.query(
             "select step, loss from dedloc_step where runid = ? and (step % ? = 0 or step = ? "
             "or step = 1) order by step",
             {run, stride, last_step})) {
        json.begin_list();
        json.item(row.integer("step"));
        json.item(row.real("loss"));
        json.end_list();
    }
    json.end_list();
}

/// Adds the peers and returns the samples per second of those that work. The seat's result leads to
/// host and user.
double add_peers(Json& json, Database& database, std::int64_t run, double now) {
    double rate = 0;
    json.list("peers");
    for (const Row& row : database.query(
             "select s.peer_key, s.role, s.state, s.step, s.samples_per_second, s.digest, "
             "s.last_seen, r.hostid, u.name as user_name from dedloc_seat s "
             "left join result r on r.name = s.result_name and s.result_name <> '' "
             "left join user u on u.id = r.userid "
             "where s.runid = ? and (s.state in ('joining', 'working') or s.last_seen > ?) "
             "order by s.first_seen limit ?",
             {run, now - kForgottenAfter, kMaxPeers})) {
        const bool works = row.text("state") == "working";
        const double its_rate = works ? row.real("samples_per_second") : 0;
        rate += its_rate;
        json.begin();
        json.text("key", row.text("peer_key").substr(0, 8));
        json.text("user", row.text("user_name"));
        json.integer("host", row.integer("hostid"));
        json.text("role", row.text("role"));
        json.text("state", row.text("state"));
        json.integer("step", row.integer("step"));
        json.real("samples_per_second", its_rate);
        json.text("digest", row.text("digest"));
        json.real("seen_seconds_ago", std::max(0.0, now - row.real("last_seen")));
        json.end();
    }
    json.end_list();
    return rate;
}

/// The last evaluation, and as many of the others as the curve can show.
void add_held_out(Json& json, Database& database, std::int64_t run) {
    const std::vector<EvaluationRow> rows = read_evaluations(database, run);
    if (rows.empty()) return;
    const EvaluationRow& last = rows.back();
    json.object("held_out");
    json.integer("step", static_cast<std::int64_t>(last.step));
    json.real("loss", last.loss);
    json.real("loss_error", last.loss_error);
    json.real("masked_loss", last.masked_loss);
    json.real("order_loss", last.order_loss);
    json.real("masked_accuracy", last.masked_accuracy);
    json.real("order_accuracy", last.order_accuracy);
    json.integer("samples", static_cast<std::int64_t>(last.samples));
    json.real("seconds", last.seconds);
    json.text("digest", last.digest);
    json.end();
    json.list("held_out_curve");
    const std::size_t stride = std::max<std::size_t>(1, rows.size() / kCurvePoints);
    for (std::size_t at = 0; at < rows.size(); ++at) {
        if (at % stride != 0 && at + 1 != rows.size()) continue;
        json.begin_list();
        json.item(static_cast<std::int64_t>(rows[at].step));
        json.item(rows[at].loss);
        json.item(rows[at].masked_accuracy);
        json.item(rows[at].order_accuracy);
        json.end_list();
    }
    json.end_list();
}

}  // namespace

std::string runs_json(Database& database) {
    Json json;
    json.begin();
    json.list("runs");
    for (const RunSummary& run : read_run_summaries(database)) {
        json.begin();
        json.text("name", run.name);
        json.text("state", run.state);
        json.integer("step", run.step);
        json.integer("steps", run.steps);
        json.real("loss", run.loss);
        if (run.held_out) {
            json.object("held_out");
            json.integer("step", run.held_out->step);
            json.real("loss", run.held_out->loss);
            json.real("masked_accuracy", run.held_out->masked_accuracy);
            json.real("order_accuracy", run.held_out->order_accuracy);
            json.end();
        }
        json.end();
    }
    json.end_list();
    json.end();
    return json.finish();
}

std::optional<std::string> run_json(Database& database, const std::string& name, double now) {
    const auto run = database.query_one("select * from dedloc_run where name = ?", {name});
    if (!run) return std::nullopt;
    const std::int64_t id = run->integer("id");
    // The newest step whose members have reported their digests.
    const auto last = database.query_one(
        "select step, loss, digest, members, equal_digests, seconds, learning_rate "
        "from dedloc_step where runid = ? and equal_digests > 0 order by step desc limit 1",
        {id});
    const auto sums = database.query_one(
        "select coalesce(sum(samples), 0) as samples from dedloc_step where runid = ?", {id});
    const std::int64_t step = last ? last->integer("step") : 0;
    Json json;
    json.begin();
    json.text("name", run->text("name"));
    json.text("state", run->text("state"));
    json.integer("steps", run->integer("steps"));
    json.integer("target_batch", run->integer("target_batch"));
    json.real("credit_per_sample", run->real("credit_per_sample"));
    json.text("final_digest", run->text("final_digest"));
    json.integer("step", step);
    json.integer("samples", sums->integer("samples"));
    json.real("loss", last ? last->real("loss") : 0);
    json.real("learning_rate", last ? last->real("learning_rate") : 0);
    json.real("seconds", last ? last->real("seconds") : 0);
    json.text("digest", last ? last->text("digest") : "");
    json.integer("members", last ? last->integer("members") : 0);
    json.integer("equal_digests", last ? last->integer("equal_digests") : 0);
    add_curve(json, database, id, step);
    add_held_out(json, database, id);
    const double rate = add_peers(json, database, id, now);
    json.real("samples_per_second", rate);
    json.end();
    return json.finish();
}

std::string leaderboard_json(Database& database) {
    Json json;
    json.begin();
    json.list("users");
    for (const Row& row : database.query("select name, total_credit, expavg_credit from user "
                                         "order by total_credit desc, id limit 50")) {
        json.begin();
        json.text("name", row.text("name"));
        json.real("credit", row.real("total_credit"));
        json.real("recent_credit", row.real("expavg_credit"));
        json.end();
    }
    json.end_list();
    json.list("hosts");
    for (const Row& row : database.query(
             "select h.id, h.p_ncpus, h.p_model, h.os_name, h.total_credit, h.expavg_credit, "
             "u.name as owner from host h join user u on u.id = h.userid where u.show_hosts = 1 "
             "order by h.total_credit desc, h.id limit 50")) {
        json.begin();
        json.integer("id", row.integer("id"));
        json.text("owner", row.text("owner"));
        json.integer("cores", row.integer("p_ncpus"));
        json.text("processor", row.text("p_model"));
        json.text("system", row.text("os_name"));
        json.real("credit", row.real("total_credit"));
        json.real("recent_credit", row.real("expavg_credit"));
        json.end();
    }
    json.end_list();
    json.end();
    return json.finish();
}

}  // namespace dedloc::server
