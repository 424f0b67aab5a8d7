// dedloc run status, pause, resume and mix: by the run's files and its backbone. The database adds
// only the figures on held-out data, if it answers.
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/text.hpp"
#include "peer/platform/stop_signals.hpp"
#include "project_server/backbone/remote_voters.hpp"
#include "project_server/cli/commands.hpp"
#include "project_server/cli/output.hpp"
#include "project_server/cli/run_view.hpp"
#include "project_server/control/client.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/runs/control.hpp"
#include "project_server/runs/find_run.hpp"
#include "project_server/views/answers.hpp"
#include "project_server/views/runs.hpp"

namespace dedloc::cli {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kSignalsEvery = 200ms;
constexpr auto kHeldOutEvery = 5s;

struct LiveChoice {
    std::filesystem::path project;
    std::string run;
    std::filesystem::path folder;
    bool follows = false;
    bool prints_json = false;

    backbone::RunFiles files() const {
        if (!folder.empty()) return backbone::read_run_files(folder);
        if (project.empty()) throw InputError("name a run: --project with --name, or --folder");
        return runs::find_run(project, run);
    }
};

std::size_t terminal_columns() {
    winsize size{};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/// The figures on held-out data, if the database answers.
std::vector<server::EvaluationRow> held_out_of(const LiveChoice& chosen) {
    if (chosen.project.empty()) return {};
    try {
        server::Database database{server::load_project_config(chosen.project).database};
        const std::int64_t run = server::read_run(database, chosen.run).id;
        auto rows = server::read_evaluations(database, run);
        server::read_answers_of(database, run, rows);
        return rows;
    } catch (const Error&) {
        // The run is shown without them.
    }
    return {};
}

/// On a terminal, prints over its earlier output; elsewhere adds lines.
class StepProgress final {
  public:
    explicit StepProgress(const LiveChoice& chosen) : chosen_(chosen) {}

    void show(server::RunStatus status) {
        for (const auto& step : reported_steps(status)) {
            if (step.step <= shown_) continue;
            shown_ = step.step;
            if (chosen_.prints_json) {
                fmt::print("{}\n", step_json(step));
            } else if (!is_terminal_) {
                fmt::print("{}\n", step_line(status, step));
            }
        }
        if (is_terminal_ && !chosen_.prints_json) redraw(status);
        std::fflush(stdout);
    }
    std::uint64_t last_step() const { return shown_; }

  private:
    void redraw(server::RunStatus& status) {
        if (Clock::now() >= held_out_at_) {
            held_out_ = held_out_of(chosen_);
            held_out_at_ = Clock::now() + kHeldOutEvery;
        }
        status.held_out = held_out_;
        if (height_ > 0) fmt::print("\033[{}A", height_);
        const auto lines = terminal_view(status, status.lines, terminal_columns());
        for (const auto& line : lines) fmt::print("\033[2K{}\n", line);
        for (std::size_t more = lines.size(); more < height_; ++more) fmt::print("\033[2K\n");
        height_ = std::max(height_, lines.size());
    }

    const LiveChoice& chosen_;
    const bool is_terminal_ = isatty(STDOUT_FILENO) != 0;
    std::size_t height_ = 0;
    std::uint64_t shown_ = 0;
    std::vector<server::EvaluationRow> held_out_;
    Clock::time_point held_out_at_{};
};

/// Shows the run until it is finished: through restarts of its backbone and of the database.
void follow(const LiveChoice& chosen) {
    using Change = control::Subscriber::Change;
    const platform::StopSignals signals;
    runs::RunHistory history{chosen.files()};
    control::Subscriber subscriber{backbone::places_of(history.files().folder)};
    StepProgress progress{chosen};
    for (;;) {
        const Change change = subscriber.wait(kSignalsEvery);
        history.update();
        const auto status =
            runs::status_of(history, subscriber.is_live() ? &subscriber.picture() : nullptr);
        progress.show(status);
        if (status.state == "finished" && progress.last_step() >= status.steps) return;
        if (change == Change::kAway) {
            fmt::print(stderr,
                       "dedloc: the backbone of the run {} does not answer, waiting for it\n",
                       status.name);
        }
        if (signals.arrived()) throw IoError("interrupted; the run continues");
    }
}

void status(const LiveChoice& chosen) {
    if (chosen.follows) return follow(chosen);
    auto now = runs::present_status(chosen.files());
    now.held_out = held_out_of(chosen);
    if (chosen.prints_json) {
        fmt::print("{}\n", status_json(now));
        return;
    }
    for (const auto& line : terminal_view(now, now.lines, terminal_columns())) {
        fmt::print("{}\n", line);
    }
}

void change_pause(const LiveChoice& chosen, bool is_paused) {
    const runs::PauseOutcome outcome = runs::set_paused(chosen.project, chosen.run, is_paused);
    const char* const state = is_paused ? "paused" : "running";
    if (chosen.prints_json) {
        json::Value data;
        data.set("run", chosen.run)
            .set("state", state)
            .set("live", outcome.is_live)
            .set("voters", outcome.voters);
        return print(data, true);
    }
    std::string more;
    if (!outcome.is_live) {
        more = "; its backbone does not work now, and will find that when it starts";
        if (outcome.voters > 0) {
            more += fmt::format("; told {} voter{} on other machines", outcome.voters,
                                outcome.voters == 1 ? "" : "s");
        }
    }
    fmt::print("run {} is {}{}\n", chosen.run, state, more);
}

void add_pause_command(CLI::App& run, const char* name, const char* what, bool is_paused) {
    const auto chosen = std::make_shared<LiveChoice>();  // shared by parser and callback
    auto* const command = run.add_subcommand(name, what);
    command->add_option("--project", chosen->project, "The project's folder")->required();
    command->add_option("--name", chosen->run, "The run's name")->required();
    command->add_flag("--json", chosen->prints_json, "Print JSON");
    command->callback([chosen, is_paused] { change_pause(*chosen, is_paused); });
}

/// "NAME=WEIGHT". Errors: InputError.
runs::SourceWeight parse_weight(const std::string& text) {
    const auto equals = text.find('=');
    const auto weight = equals == std::string::npos
                            ? std::nullopt
                            : parse_number<double>(std::string_view{text}.substr(equals + 1));
    if (!weight || !std::isfinite(*weight) || *weight < 0) {
        throw InputError(fmt::format("{} is not SOURCE=WEIGHT with a number of at least 0", text));
    }
    return {.name = text.substr(0, equals), .weight = *weight};
}

void change_mixture(const LiveChoice& chosen, const std::vector<std::string>& weights,
                    std::optional<std::uint64_t> from) {
    std::vector<runs::SourceWeight> parsed;
    for (const std::string& text : weights) parsed.push_back(parse_weight(text));
    const std::uint64_t step = runs::mix(chosen.project, chosen.run, parsed, from);
    if (chosen.prints_json) {
        json::Value data;
        data.set("run", chosen.run).set("from_step", step);
        return print(data, true);
    }
    fmt::print("run {} draws its samples from the new mixture from step {} on\n", chosen.run, step);
}

void add_mix_command(CLI::App& run) {
    const auto chosen = std::make_shared<LiveChoice>();  // shared by parser and callback
    const auto weights = std::make_shared<std::vector<std::string>>();
    const auto from = std::make_shared<std::optional<std::uint64_t>>();
    auto* const command =
        run.add_subcommand("mix", "Change how often samples come from each source of the corpus");
    command->add_option("--project", chosen->project, "The project's folder")->required();
    command->add_option("--name", chosen->run, "The run's name")->required();
    command
        ->add_option("SOURCE=WEIGHT", *weights,
                     "For each source of the run how often samples come from it, relative to the "
                     "others; 0: never")
        ->required();
    command->add_option("--from-step", *from,
                        "First step with this mixture (default: as soon as every volunteer has "
                        "heard of it)");
    command->add_flag("--json", chosen->prints_json, "Print JSON");
    command->callback([=] { change_mixture(*chosen, *weights, *from); });
}

void add_status_command(CLI::App& run) {
    const auto chosen = std::make_shared<LiveChoice>();  // shared by parser and callback
    auto* const command = run.add_subcommand("status", "Print the progress");
    auto* const project = command->add_option("--project", chosen->project, "The project's folder");
    auto* const name = command->add_option("--name", chosen->run, "The run's name")->needs(project);
    project->needs(name);
    command->add_option("--folder", chosen->folder, "Instead: folder of a voter on this machine")
        ->excludes(project);
    command->add_flag("--json", chosen->prints_json, "Print JSON");
    command->add_flag("--follow", chosen->follows,
                      "Print until it is finished; with --json an object for each step");
    command->callback([chosen] { status(*chosen); });
}

}  // namespace

void add_live_commands(CLI::App& run) {
    add_status_command(run);
    add_pause_command(run, "pause",
                      "No step begins any more; volunteers keep what they have computed", true);
    add_pause_command(run, "resume", "Go on after a pause", false);
    add_mix_command(run);
}

}  // namespace dedloc::cli
