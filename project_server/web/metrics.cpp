// A Metric collects all samples of one name, as the format wants them together, while the rows are
// read run by run; the texts are joined at the end. RequestTimes counts a request in one bucket
// under its mutex and makes the cumulative sums of a histogram only when the text is written.
// live_metrics() uses nothing but the backbones' pictures, so it works without the database.
#include "project_server/web/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "project_server/database/states.hpp"

namespace dedloc::server {
namespace {

/// The text of one metric: HELP, TYPE and its samples.
class Metric {
  public:
    Metric(std::string name, std::string_view help) : name_(std::move(name)) {
        text_ = fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", name_, help);
    }
    void add(const std::string& labels, double value) {
        const std::string number = std::isfinite(value) ? fmt::format("{}", value) : "NaN";
        text_ += labels.empty() ? fmt::format("{} {}\n", name_, number)
                                : fmt::format("{}{{{}}} {}\n", name_, labels, number);
    }
    const std::string& text() const { return text_; }

  private:
    std::string name_;
    std::string text_;
};

/// A label with its value escaped.
std::string label(std::string_view name, std::string_view value) {
    std::string text = std::string{name} + "=\"";
    for (const char c : value) {
        if (c == '\n') {
            text += "\\n";
            continue;
        }
        if (c == '"' || c == '\\') text += '\\';
        text += c;
    }
    return text + '"';
}

std::string run_metrics(Database& database) {
    Metric step{"dedloc_run_step", "Updates done."};
    Metric loss{"dedloc_run_loss", "Training loss of the last update, in nats."};
    Metric rate{"dedloc_run_samples_per_second", "Samples a second of the peers at work."};
    Metric peers{"dedloc_run_peers", "Peers by state."};
    Metric held_out{"dedloc_run_held_out_loss", "Loss on held-out text, in nats."};
    for (const Row& run :
         database.query("select id, name, state from dedloc_run where state <> 'finished' "
                        "order by id desc limit 100")) {
        const std::int64_t id = run.integer("id");
        const std::string labels =
            label("run", run.text("name")) + ',' + label("state", run.text("state"));
        const auto last = database.query_one(
            "select step, loss from dedloc_step where runid = ? order by step desc limit 1", {id});
        step.add(labels, last ? last->real("step") : 0);
        if (last) loss.add(labels, last->real("loss"));
        double samples = 0;
        for (const Row& row :
             database.query("select state, count(*) as n, sum(samples_per_second) as samples "
                            "from dedloc_seat where runid = ? and state in ('joining', 'working') "
                            "group by state",
                            {id})) {
            peers.add(label("run", run.text("name")) + ',' + label("state", row.text("state")),
                      row.real("n"));
            if (row.text("state") == "working") samples = row.real("samples");
        }
        rate.add(labels, samples);
        if (const auto row = database.query_one(
                "select loss from dedloc_evaluation where runid = ? order by step desc limit 1",
                {id})) {
            held_out.add(labels, row->real("loss"));
        }
    }
    return step.text() + loss.text() + rate.text() + peers.text() + held_out.text();
}

std::string job_metrics(Database& database, double now) {
    Metric jobs{"dedloc_tasks", "Tasks by state."};
    for (const auto& [state, number] : {std::pair{"unsent", ServerState::kUnsent},
                                        std::pair{"in_progress", ServerState::kInProgress}}) {
        const auto row =
            database.query_one("select count(*) as n from result where server_state = ?", {number});
        jobs.add(label("state", state), row->real("n"));
    }
    Metric waiting{"dedloc_workunits_waiting", "Jobs that wait for a daemon."};
    for (const auto& [what, column, value] :
         {std::tuple{"validation", "need_validate", Parameter{1}},
          std::tuple{"assimilation", "assimilate_state", Parameter{AssimilateState::kReady}},
          std::tuple{"deletion", "file_delete_state", Parameter{FileDeleteState::kReady}}}) {
        const auto row = database.query_one(
            fmt::format("select count(*) as n from workunit where {} = ?", column), {value});
        waiting.add(label("for", what), row->real("n"));
    }
    Metric people{"dedloc_with_recent_credit", "Volunteers and computers with recent credit."};
    for (const char* const table : {"user", "host"}) {
        const auto row = database.query_one(
            fmt::format("select count(*) as n from {} where expavg_credit > 1", table));
        people.add(label("table", table), row->real("n"));
    }
    Metric contacts{"dedloc_hosts_created_today", "Computers that came in the last day."};
    contacts.add(
        "",
        database.query_one("select count(*) as n from host where create_time > ?", {now - 86'400})
            ->real("n"));
    return jobs.text() + waiting.text() + people.text() + contacts.text();
}

}  // namespace

void RequestTimes::count(std::chrono::duration<double> time) {
    const auto bucket = std::ranges::lower_bound(kLimits, time.count()) - kLimits.begin();
    const std::lock_guard lock{mutex_};
    ++buckets_[static_cast<std::size_t>(bucket)];
    seconds_ += time.count();
}

std::string RequestTimes::text(const std::string& name, const std::string& labels) const {
    const std::lock_guard lock{mutex_};
    std::string text;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
        sum += buckets_[i];
        const std::string limit = i < kLimits.size() ? fmt::format("{}", kLimits[i]) : "+Inf";
        text += fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", name, labels, limit, sum);
    }
    return text +
           fmt::format("{0}_sum{{{1}}} {2}\n{0}_count{{{1}}} {3}\n", name, labels, seconds_, sum);
}

std::string project_metrics(Database& database, double now) {
    return run_metrics(database) + job_metrics(database, now);
}

std::string live_metrics(const std::vector<control::Snapshot>& pictures) {
    Metric step{"dedloc_live_step", "Updates done, as the run's backbone says."};
    Metric loss{"dedloc_live_loss", "Training loss of the last update, in nats."};
    Metric rate{"dedloc_live_samples_per_second", "Samples a second of all trainers."};
    Metric trainers{"dedloc_live_trainers", "Linked trainers that hold the state."};
    Metric members{"dedloc_live_members", "Linked peers by role."};
    for (const control::Snapshot& picture : pictures) {
        const std::string run = label("run", picture.run);
        step.add(run + ',' + label("state", name_of(picture.state)),
                 static_cast<double>(picture.progress.step));
        if (!picture.recent.empty()) loss.add(run, picture.recent.back().loss);
        rate.add(run, picture.progress.samples_per_second);
        trainers.add(run, static_cast<double>(picture.progress.trainers));
        std::map<std::string, double> roles;
        for (const control::MemberView& member : picture.members) ++roles[member.role];
        for (const auto& [role, count] : roles) members.add(run + ',' + label("role", role), count);
    }
    return step.text() + loss.text() + rate.text() + trainers.text() + members.text();
}

std::string database_metric(bool is_up) {
    Metric up{"dedloc_database_up", "1 if the database has answered; else its metrics are absent."};
    up.add("", is_up ? 1 : 0);
    return up.text();
}

}  // namespace dedloc::server
