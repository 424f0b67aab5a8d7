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
#include <utility>

#include "project_server/views/figures.hpp"
#include "project_server/views/runs.hpp"

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
    Metric held_out{"dedloc_run_held_out_loss",
                    "Loss on held-out data; in nats for text and pictures."};
    Metric figures{"dedloc_run_held_out_figure",
                   "Figures on held-out data by name; accuracies from 0 to 1."};
    for (const RunView& run : read_runs(database, {.is_unfinished = true})) {
        const std::string name = label("run", run.name);
        const std::string labels = name + ',' + label("state", run.state);
        step.add(labels, static_cast<double>(run.step));
        if (run.loss) loss.add(labels, *run.loss);
        const RunPeers now = read_peers(database, run.id);
        for (const auto& [state, number] :
             {std::pair{"joining", now.joining}, std::pair{"working", now.working}}) {
            if (number == 0) continue;
            peers.add(name + ',' + label("state", state), static_cast<double>(number));
        }
        rate.add(labels, now.samples_per_second);
        if (!run.held_out) continue;
        held_out.add(labels, run.held_out->loss);
        for (const auto& kind : formats::figures_of(run.architecture)) {
            const auto* const figure = formats::find_figure(run.held_out->figures, kind.name);
            if (figure == nullptr) continue;
            figures.add(name + ',' + label("figure", kind.name), figure->value);
        }
        for (const auto& source : formats::source_losses(run.held_out->figures)) {
            const std::string figure = formats::source_loss_name(source.source);
            figures.add(name + ',' + label("figure", figure), source.loss);
        }
    }
    return step.text() + loss.text() + rate.text() + peers.text() + held_out.text() +
           figures.text();
}

std::string job_metrics(Database& database, double now) {
    using enum Figure;
    const auto number = [&](Figure figure) {
        return static_cast<double>(count_of(database, figure, now));
    };
    Metric jobs{"dedloc_tasks", "Tasks by state."};
    jobs.add(label("state", "unsent"), number(kResultsReadyToSend));
    jobs.add(label("state", "in_progress"), number(kResultsInProgress));
    Metric waiting{"dedloc_workunits_waiting", "Jobs that wait for a daemon."};
    waiting.add(label("for", "validation"), number(kWorkunitsToValidate));
    waiting.add(label("for", "assimilation"), number(kWorkunitsToAssimilate));
    waiting.add(label("for", "deletion"), number(kWorkunitsToDelete));
    Metric people{"dedloc_with_recent_credit", "Volunteers and computers with recent credit."};
    people.add(label("table", "user"), number(kUsersWithRecentCredit));
    people.add(label("table", "host"), number(kHostsWithRecentCredit));
    Metric contacts{"dedloc_hosts_created_today", "Computers that came in the last day."};
    contacts.add("", number(kHostsRegisteredLastDay));
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
