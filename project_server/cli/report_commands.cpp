// dedloc run list, wait, report and suspicions, and dedloc leaderboard: what the database says of
// runs.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/markup.hpp"
#include "peer/base/utc_text.hpp"
#include "peer/formats/task.hpp"
#include "peer/platform/stop_signals.hpp"
#include "project_server/cli/commands.hpp"
#include "project_server/cli/output.hpp"
#include "project_server/cli/run_view.hpp"
#include "project_server/project/project.hpp"
#include "project_server/runs/find_run.hpp"
#include "project_server/settings.hpp"
#include "project_server/views/run_report.hpp"
#include "project_server/views/run_story.hpp"
#include "project_server/views/runs.hpp"
#include "project_server/views/suspicion_list.hpp"
#include "project_server/views/users.hpp"

namespace dedloc::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kRefresh = 500ms;
constexpr std::size_t kLossWindow = 10;  // steps over which "loss at the end" is averaged

/// Options that several subcommands share.
struct ReportChoice {
    fs::path project;
    std::string run;
    bool waits_for_evaluation = false;
    int seconds = 600;
    int count = 20;
    bool prints_json = false;
};

using Clock = std::chrono::steady_clock;

/// Calls `look` every kRefresh until it returns true. While the database is away it only says so,
/// once, and goes on when the database is back, or fails when it is not back by `deadline`.
template <class Look>
void watch(server::Database& database, Clock::time_point deadline, const Look& look) {
    const platform::StopSignals signals;
    bool is_away = false;
    for (;;) {
        try {
            database.ensure_connected();
            if (look()) return;
            is_away = false;
        } catch (const server::DatabaseError& error) {
            if (!error.is_away() || Clock::now() >= deadline) throw;
            if (!std::exchange(is_away, true)) {
                fmt::print(stderr, "dedloc: the database does not answer, waiting for it\n");
            }
        }
        if (signals.wait(kRefresh)) throw IoError("interrupted; the run continues");
    }
}

bool is_settled(const server::RunStatus& status, const server::RunReport& report) {
    return status.state == "finished" && report.uncredited == 0 && report.open_results == 0;
}

bool is_evaluated(const server::RunStatus& status) {
    return !status.held_out.empty() && status.held_out.back().step == status.steps;
}

void wait(const ReportChoice& chosen) {
    project::ProjectDatabase access{project::existing_project(chosen.project)};
    const auto deadline = Clock::now() + std::chrono::seconds(chosen.seconds);
    server::RunStatus status;
    watch(access.database(), deadline, [&] {
        status = server::run_status(access.database(), chosen.run);
        const auto report = server::run_report(access.database(), chosen.run);
        const bool is_complete = !chosen.waits_for_evaluation || is_evaluated(status);
        if (is_settled(status, report) && is_complete) return true;
        if (Clock::now() < deadline) return false;
        throw Error(fmt::format(
            "after {} s the run {} is {}, {} jobs are open and {} contributions uncredited{}",
            chosen.seconds, chosen.run, status.state, report.open_results, report.uncredited,
            is_complete ? "" : ", and its last state is not evaluated"));
    });
    if (!chosen.prints_json) return;
    json::Value data;
    data.set("name", status.name)
        .set("state", status.state)
        .set("step", status.lines.empty() ? 0 : status.lines.back().step)
        .set("steps", status.steps)
        .set("final_digest", status.final_digest);
    print(data, true);
}

void print_leaderboard(const ReportChoice& chosen) {
    const auto project = project::existing_project(chosen.project);
    project::ProjectDatabase access{project};
    const auto lines =
        server::leaderboard(access.database(), chosen.count, server::is_official(project));
    if (chosen.prints_json) {
        json::Value::List users;
        for (const auto& line : lines) {
            json::Value user;
            user.set("name", line.name).set("team", line.team).set("credit", line.credit);
            users.push_back(std::move(user.set("hosts", line.hosts)));
        }
        json::Value data;
        return print(data.set("users", std::move(users)), true);
    }
    int place = 0;
    fmt::print("{:>4}  {:<32} {:>16} {:>6}\n", "", "user", "credit", "hosts");
    for (const auto& line : lines) {
        fmt::print("{:>4}  {:<32} {:>16.6f} {:>6}\n", ++place, line.name, line.credit, line.hosts);
    }
}

void list(const ReportChoice& chosen) {
    project::ProjectDatabase access{project::existing_project(chosen.project)};
    print(server::run_list(access.database()), chosen.prints_json);
}

double mean_of_last_losses(const std::vector<server::StepLine>& steps) {
    const std::size_t first = steps.size() > kLossWindow ? steps.size() - kLossWindow : 0;
    double sum = 0;
    for (std::size_t at = first; at < steps.size(); ++at) sum += steps[at].loss;
    return sum / static_cast<double>(steps.size() - first);
}

void print_held_out(const server::RunStatus& status) {
    if (status.held_out.empty()) {
        fmt::print("held-out  not evaluated\n");
        return;
    }
    const auto& last = status.held_out.back();
    fmt::print("held-out  {:.4f} ± {:.4f} at step {} on {} samples{}\n", last.loss, last.loss_error,
               last.step, last.samples, headline_clause(last, status.architecture));
    const auto& first = status.held_out.front();
    if (first.step == 0) {
        fmt::print("          {:.4f} ± {:.4f} before the first step{}\n", first.loss,
                   first.loss_error, headline_clause(first, status.architecture));
    }
}

/// What a report compares.
struct Facts {
    server::RunStatus status;
    server::RunReport sums;
    double first_loss = 0;
    std::optional<formats::GuessingLoss> untrained{};  ///< loss of a model that guesses
    double last_loss = 0;                              ///< mean of the last kLossWindow steps
    server::RunStory story{};                          ///< who has computed it
};

/// A duration with the unit that people would choose.
std::string duration_text(double seconds) {
    if (seconds < 120) return fmt::format("{:.0f} s", seconds);
    if (seconds < 2 * 3600) return fmt::format("{:.1f} min", seconds / 60);
    if (seconds < 72 * 3600) return fmt::format("{:.1f} h", seconds / 3600);
    return fmt::format("{:.1f} days", seconds / 86'400);
}

/// "1 computer", "2 computers".
std::string counted(std::int64_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void print_shares(const char* title, const std::vector<server::StoryShare>& shares) {
    for (const auto& share : shares) {
        fmt::print("{:<9} {}: {} of {}, {}, {} samples\n", title, printable_text(share.name),
                   counted(share.computers, "computer"), counted(share.volunteers, "volunteer"),
                   duration_text(share.seconds), share.samples);
    }
}

void print_story(const server::RunStory& story) {
    if (story.sessions == 0) return fmt::print("people    no volunteer has taken part yet\n");
    fmt::print("people    {} with {} and {} from {} to {} UTC\n",
               counted(story.volunteers, "volunteer"), counted(story.computers, "computer"),
               counted(story.peers, "job"), utc_text(story.began), utc_text(story.ended));
    fmt::print("sessions  {}, mean {}, longest {}; cumulative device time {}\n", story.sessions,
               duration_text(story.mean_session), duration_text(story.longest_session),
               duration_text(story.device_seconds));
    fmt::print("work      {} samples and {} averaged bytes in {} contributions\n", story.samples,
               story.reduced_bytes, story.contributions);
    print_shares("device", story.devices);
    print_shares("version", story.versions);
    print_shares("country", story.countries);
}

void print_text(const Facts& facts) {
    const auto& [status, sums, start, untrained, end, story] = facts;
    print_story(story);
    const std::string guess =
        untrained ? fmt::format(" ({} = {:.4f})", untrained->formula, untrained->value) : "";
    fmt::print(
        "training  {:.4f} at step 1{}, {:.4f} at the end (mean of the last {} steps): down by "
        "{:.4f}\n",
        start, guess, end, std::min(kLossWindow, status.lines.size()), start - end);
    print_held_out(status);
    fmt::print("digests   equal at all members at {} of {} steps{}\n", sums.equal_steps,
               status.lines.size(),
               sums.unsettled_steps == 0
                   ? ""
                   : fmt::format(", those of {} are not known yet", sums.unsettled_steps));
    const std::string totals =
        sums.has_other_apps
            ? "what users have is not compared, because they also have credit of other apps"
            : fmt::format("users have {:.6f}, all runs gave {:.6f}", sums.credit_of_users,
                          sums.credit_of_all_runs);
    fmt::print(
        "credit    {} samples x {:.6g} + {} reduced bytes x {:.6g} a gigabyte = {:.6f}, credited "
        "{:.6f}; {}: {}\n",
        sums.samples, sums.credit_per_sample, sums.reduced_bytes, sums.credit_per_gigabyte_reduced,
        sums.credit_due(), sums.credit_of_lines, totals,
        sums.credit_agrees() ? "they agree" : "THEY DIFFER");
    if (sums.uncredited > 0) {
        fmt::print("pending   {} contributions not credited yet\n", sums.uncredited);
    }
    for (const auto& sentence : sums.withholdings) fmt::print("withheld  {}\n", sentence);
    if (sums.unowned + sums.unowned_bytes > 0) {
        fmt::print("unowned   {} samples and {} reduced bytes of keys without a ticket\n",
                   sums.unowned, sums.unowned_bytes);
    }
    fmt::print("state     {} after step {}\n", status.final_digest, status.lines.back().step);
}

void print_report_json(const Facts& facts) {
    const auto& [status, sums, start, untrained, end, story] = facts;
    json::Value::List withholdings;
    for (const auto& sentence : sums.withholdings) withholdings.emplace_back(sentence);
    json::Value data;
    data.set("name", status.name)
        .set("state", status.state)
        .set("step", status.lines.back().step)
        .set("steps", status.steps)
        .set("first_loss", start);
    if (untrained) data.set("untrained_loss", untrained->value);
    data.set("last_loss", end)
        .set("held_out", held_out_data(status))
        .set("equal_steps", sums.equal_steps)
        .set("unsettled_steps", sums.unsettled_steps)
        .set("samples", sums.samples)
        .set("reduced_bytes", sums.reduced_bytes)
        .set("credit_per_sample", sums.credit_per_sample)
        .set("credit_per_gigabyte_reduced", sums.credit_per_gigabyte_reduced)
        .set("credit", sums.credit_of_lines)
        .set("credit_of_users", sums.credit_of_users)
        .set("has_other_apps", sums.has_other_apps)
        .set("credit_of_all_runs", sums.credit_of_all_runs)
        .set("credit_agrees", sums.credit_agrees())
        .set("pending_contributions", sums.uncredited)
        .set("withheld_samples", sums.withheld)
        .set("withheld_reduced_bytes", sums.withheld_bytes)
        .set("withheld", std::move(withholdings))
        .set("unowned_samples", sums.unowned)
        .set("unowned_reduced_bytes", sums.unowned_bytes)
        .set("open_jobs", sums.open_results)
        .set("final_digest", status.final_digest)
        .set("story", server::story_data(story));
    print(data, true);
}

Facts facts_of(server::Database& database, const fs::path& project, const std::string& run) {
    Facts facts{.status = server::run_status(database, run),
                .sums = server::run_report(database, run, server::is_official(project))};
    const auto& lines = facts.status.lines;
    if (lines.empty()) throw Error(fmt::format("the run {} has no step yet", run));
    facts.first_loss = lines.front().loss;
    facts.untrained = formats::guessing_loss(runs::find_run(project, run).run);
    facts.last_loss = mean_of_last_losses(lines);
    facts.story = server::read_story(database, server::read_run(database, run).id);
    return facts;
}

/// Prints the run's story, losses, digests and credit. Errors: Error when credit or digests do not
/// agree.
void report(const ReportChoice& chosen) {
    const auto project = project::existing_project(chosen.project);
    project::ProjectDatabase access{project};
    const Facts facts = [&] {
        const server::Transaction view{access.database()};  // the run may go on meanwhile
        return facts_of(access.database(), project, chosen.run);
    }();
    const auto& lines = facts.status.lines;
    chosen.prints_json ? print_report_json(facts) : print_text(facts);
    if (!facts.sums.credit_agrees()) throw Error("credit and samples do not agree");
    const auto settled = lines.size() - facts.sums.unsettled_steps;
    const bool are_due = facts.status.state == "finished";
    if (facts.sums.equal_steps != (are_due ? lines.size() : settled)) {
        throw Error("digests differed at some step");
    }
}

void print_suspicions(const ReportChoice& chosen) {
    project::ProjectDatabase access{project::existing_project(chosen.project)};
    auto& database = access.database();
    json::Value data;
    data.set("suspicions",
             server::suspicions(database, {.run = server::read_run(database, chosen.run).id,
                                           .limit = chosen.count}));
    print(data, chosen.prints_json);
    if (chosen.prints_json) return;
    fmt::print(
        "source swarm: noted by the voter that coordinated: the run's backbone, or one that was "
        "appointed\nwith --control. That a peer sent nothing, or sent pieces that cannot be "
        "averaged, rests on what other\nmembers said. Nothing acts on suspicions.\n");
}

CLI::App* add_command(CLI::App& group, const char* name, const char* what,
                      const std::shared_ptr<ReportChoice>& chosen) {
    auto* const command = group.add_subcommand(name, what);
    command->add_option("--project", chosen->project, "The project's folder")->required();
    command->add_option("--name", chosen->run, "The run's name")->required();
    return command;
}

void add_json(CLI::App* command, const std::shared_ptr<ReportChoice>& chosen) {
    command->add_flag("--json", chosen->prints_json, "Print JSON");
}

}  // namespace

void add_report_commands(CLI::App& dedloc, CLI::App& run) {
    const auto chosen = std::make_shared<ReportChoice>();  // shared by parser and callbacks

    auto* const list_command = run.add_subcommand("list", "List the project's runs");
    list_command->add_option("--project", chosen->project, "The project's folder")->required();
    add_json(list_command, chosen);
    list_command->callback([chosen] { list(*chosen); });

    auto* const wait_command =
        add_command(run, "wait", "Wait until it is finished and credited", chosen);
    wait_command->add_option("--timeout", chosen->seconds, "Seconds")->capture_default_str();
    wait_command->add_flag("--evaluated", chosen->waits_for_evaluation,
                           "Wait also until its last state is measured on held-out data");
    add_json(wait_command, chosen);
    wait_command->callback([chosen] { wait(*chosen); });

    auto* const report_command = add_command(
        run, "report",
        "Tell the run's story: volunteers, sessions, devices, losses; fail if digests or credit do "
        "not agree",
        chosen);
    add_json(report_command, chosen);
    report_command->callback([chosen] { report(*chosen); });

    auto* const suspicions_command =
        add_command(run, "suspicions", "List what speaks against volunteers, newest first", chosen);
    suspicions_command->add_option("--count", chosen->count, "At most so many")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    add_json(suspicions_command, chosen);
    suspicions_command->callback([chosen] { print_suspicions(*chosen); });

    auto* const leaders = dedloc.add_subcommand("leaderboard", "List users by credit");
    leaders->add_option("--project", chosen->project, "The project's folder")->required();
    leaders->add_option("--count", chosen->count, "Number of users")->capture_default_str();
    add_json(leaders, chosen);
    leaders->callback([chosen] { print_leaderboard(*chosen); });
}

}  // namespace dedloc::cli
