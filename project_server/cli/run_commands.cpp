#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/stop_signals.hpp"
#include "peer/wire/limits.hpp"
#include "project_server/cli/commands.hpp"
#include "project_server/cli/model_import.hpp"
#include "project_server/cli/run.hpp"

namespace dedloc::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kRefresh = 500ms;
constexpr std::size_t kLossWindow = 10;  // steps over which "loss at the end" is averaged

/// Options that several subcommands share.
struct Chosen {
    fs::path project;
    std::string run;
    bool waits_for_evaluation = false;
    int seconds = 600;
    int count = 20;
};

void create(const RunOptions& options) {
    const auto [run, initialised] = create_run(options);
    const std::string notice = notice_of(options.from, initialised);
    if (!notice.empty()) fmt::print("{}\n", notice);
    fmt::print("run {}: {} parameters, {} steps of {} samples, {:.3g} credit a sample, id {}\n",
               run.name, formats::parameter_count(run), run.steps, run.target_batch,
               formats::credit_per_sample(run), formats::run_id(run).brief());
}

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

bool is_settled(const RunStatus& status, const RunReport& report) {
    return status.state == "finished" && report.uncredited == 0 && report.open_results == 0;
}

bool is_evaluated(const RunStatus& status) {
    return !status.held_out.empty() && status.held_out.back().step == status.steps;
}

void wait(const Chosen& chosen) {
    ProjectDatabase access{existing_project(chosen.project)};
    const auto deadline = Clock::now() + std::chrono::seconds(chosen.seconds);
    watch(access.database(), deadline, [&] {
        const auto status = run_status(access.database(), chosen.run, 0);
        const auto report = run_report(access.database(), chosen.run);
        const bool is_complete = !chosen.waits_for_evaluation || is_evaluated(status);
        if (is_settled(status, report) && is_complete) return true;
        if (Clock::now() < deadline) return false;
        throw Error(fmt::format(
            "after {} s the run {} is {}, {} jobs are open and {} contributions uncredited{}",
            chosen.seconds, chosen.run, status.state, report.open_results, report.uncredited,
            is_complete ? "" : ", and its last state is not evaluated"));
    });
}

void print_leaderboard(const Chosen& chosen) {
    ProjectDatabase access{existing_project(chosen.project)};
    int place = 0;
    fmt::print("{:>4}  {:<32} {:>16} {:>6}\n", "", "user", "credit", "hosts");
    for (const auto& line : leaderboard(access.database(), chosen.count)) {
        fmt::print("{:>4}  {:<32} {:>16.6f} {:>6}\n", ++place, line.user, line.credit, line.hosts);
    }
}

double mean_of_last_losses(const std::vector<StepLine>& steps) {
    const std::size_t first = steps.size() > kLossWindow ? steps.size() - kLossWindow : 0;
    double sum = 0;
    for (std::size_t at = first; at < steps.size(); ++at) sum += steps[at].loss;
    return sum / static_cast<double>(steps.size() - first);
}

void print_held_out(const RunStatus& status) {
    if (status.held_out.empty()) {
        fmt::print("held-out  not evaluated\n");
        return;
    }
    const auto& last = status.held_out.back();
    fmt::print(
        "held-out  {:.4f} ± {:.4f} at step {} on {} samples; right: {:.2f} % of the masked "
        "tokens, {:.2f} % of the orders\n",
        last.loss, last.loss_error, last.step, last.samples, 100 * last.masked_accuracy,
        100 * last.order_accuracy);
    const auto& first = status.held_out.front();
    if (first.step == 0) {
        fmt::print("          {:.4f} ± {:.4f} before the first step; right: {:.2f} %, {:.2f} %\n",
                   first.loss, first.loss_error, 100 * first.masked_accuracy,
                   100 * first.order_accuracy);
    }
}

/// Prints losses, digests and credit. Errors: Error when credit or digests do not agree.
void report(const Chosen& chosen) {
    ProjectDatabase access{existing_project(chosen.project)};
    const auto status = run_status(access.database(), chosen.run, 0);
    const auto facts = run_report(access.database(), chosen.run);
    if (status.lines.empty()) throw Error(fmt::format("the run {} has no step yet", chosen.run));
    const auto run = formats::parse_run_file(platform::read_text(
        server::state_folder(chosen.project) / "runs" / chosen.run / "run.json"));
    const double start = status.lines.front().loss;
    const double end = mean_of_last_losses(status.lines);
    fmt::print(
        "training  {:.4f} at step 1 (ln V + ln 2 = {:.4f}), {:.4f} at the end "
        "(mean of the last {} steps): down by {:.4f}\n",
        start, std::log(static_cast<double>(run.model.vocabulary)) + std::log(2.0), end,
        std::min(kLossWindow, status.lines.size()), start - end);
    print_held_out(status);
    fmt::print("digests   equal at all members at {} of {} steps\n", facts.equal_steps,
               status.lines.size());
    fmt::print(
        "credit    {} samples x {:.6g} = {:.6f}, credited {:.6f}; users have {:.6f}, all runs gave "
        "{:.6f}: {}\n",
        facts.samples, facts.rate, static_cast<double>(facts.samples) * facts.rate,
        facts.credit_of_lines, facts.credit_of_users, facts.credit_of_all_runs,
        facts.credit_agrees() ? "they agree" : "THEY DIFFER");
    for (const auto& sentence : facts.withholdings) fmt::print("withheld  {}\n", sentence);
    if (facts.unowned > 0) {
        fmt::print("unowned   {} samples of keys without a ticket\n", facts.unowned);
    }
    fmt::print("state     {} after step {}\n", status.final_digest, status.lines.back().step);
    if (!facts.credit_agrees()) throw Error("credit and samples do not agree");
    if (facts.equal_steps != status.lines.size()) throw Error("digests differed at some step");
}

CLI::App* add_command(CLI::App& group, const char* name, const char* what,
                      const std::shared_ptr<Chosen>& chosen) {
    auto* const command = group.add_subcommand(name, what);
    command->add_option("--project", chosen->project, "The project's folder")->required();
    command->add_option("--name", chosen->run, "The run's name")->required();
    return command;
}

/// An option whose value is one of these names.
template <std::size_t kCount, class Choose>
CLI::Option* add_choice(CLI::App& command, const char* name, const char* what,
                        const std::array<const char*, kCount>& names, const Choose& choose) {
    return command.add_option_function<std::string>(name, choose, what)
        ->check(CLI::IsMember(std::vector<std::string>(names.begin(), names.end())));
}

void add_optimizer(CLI::App& command, const std::shared_ptr<RunOptions>& options) {
    add_choice(command, "--optimizer", "LAMB as DeDLOC or NVIDIA, SGD with momentum, also in LARC",
               formats::kOptimizerNames,
               [options](const std::string& name) {
                   options->optimizer = *formats::optimizer_named(name);
               })
        ->default_str(name_of(options->optimizer));
    add_choice(command, "--schedule",
               "Learning rate after the warm-up; default: cosine with sgd_larc, else linear",
               formats::kScheduleNames, [options](const std::string& name) {
                   options->schedule = *formats::schedule_named(name);
               });
    command
        .add_option("--warmup", options->warmup_steps,
                    "Steps of linear warm-up; default: a tenth of all steps")
        ->check(CLI::Range(0, 100'000'000));
    command
        .add_option("--learning-rate", options->learning_rate,
                    "Peak of the schedule; default: by model and optimizer")
        ->check(CLI::PositiveNumber);
    command
        .add_option("--weight-decay", options->weight_decay,
                    "Decay of weights; default: by optimizer")
        ->check(CLI::NonNegativeNumber);
    command
        .add_option("--clip-norm", options->clip_norm,
                    "Largest norm of an averaged gradient, 0: none; default: by optimizer")
        ->check(CLI::NonNegativeNumber);
}

void add_create(CLI::App& group) {
    const auto options = std::make_shared<RunOptions>();  // shared by parser and callback
    auto* const command = group.add_subcommand("create", "Create a run: model, corpus, settings");
    command->add_option("--project", options->project, "The project's folder")->required();
    command->add_option("--name", options->name, "Name of the run")->required();
    command->add_option("--corpus", options->corpus, "Folder made by dedloc corpus build")
        ->required();
    command
        ->add_option("--model", options->model,
                     "tiny, base, large, xlarge, or a Hugging Face config.json of any ALBERT")
        ->capture_default_str();
    command->add_option("--from", options->from,
                        "Start from the model in this Hugging Face folder; --model then names the "
                        "settings of training");
    command->add_option("--steps", options->steps, "Updates until the run is finished")
        ->required()
        ->check(CLI::Range(1, 100'000'000));
    command->add_option("--seed", options->seed, "Seed of the first parameters")
        ->capture_default_str();
    command->add_option("--target-batch", options->target_batch, "Samples of one step")
        ->check(CLI::Range(std::uint64_t{1}, wire::kMaxTargetBatch));
    add_optimizer(*command, options);
    command
        ->add_option("--dropout", options->dropout,
                     "Three rates: hidden values, attention, sentence-order classifier; "
                     "default: 0 0 0, or those of --from")
        ->expected(3)
        ->check(CLI::Range(0.0, formats::kMaxDropout));
    command
        ->add_option_function<std::uint64_t>(
            "--job-megabytes",
            [options](std::uint64_t megabytes) { options->job_bytes = megabytes << 20; },
            "Most MiB of shards that a volunteer's job has; jobs take turns with the shards")
        ->check(CLI::Range(1, 1'000'000))
        ->default_str(std::to_string(options->job_bytes >> 20));
    add_choice(
        *command, "--codec",
        "Encoding of gradients between volunteers: fp16 and bf16 halve the bytes, int8 needs "
        "a quarter",
        kCodecNames, [options](const std::string& name) { options->codec = *codec_named(name); })
        ->default_str(name_of(options->codec));
    command->add_flag("--overlap", options->overlaps,
                      "Volunteers compute for the next step while gradients are averaged");
    command->add_option("--evaluate-every", options->evaluate_every,
                        "Steps between two evaluations on held-out text by dedloc-evaluate, 0: "
                        "none; default: a fiftieth of the steps");
    command
        ->add_option("--evaluate-samples", options->evaluate_samples,
                     "Held-out samples of an evaluation")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    command->callback([options] { create(*options); });
}

}  // namespace

void add_run_commands(CLI::App& dedloc) {
    auto* const run = dedloc.add_subcommand("run", "Create, watch and control a run");
    run->require_subcommand(1);
    add_create(*run);
    add_live_commands(*run);
    add_voter_commands(*run);
    add_model_commands(*run);
    const auto chosen = std::make_shared<Chosen>();  // shared by parser and callbacks

    auto* const wait_command =
        add_command(*run, "wait", "Wait until it is finished and credited", chosen);
    wait_command->add_option("--timeout", chosen->seconds, "Seconds")->capture_default_str();
    wait_command->add_flag("--evaluated", chosen->waits_for_evaluation,
                           "Wait also until its last state is measured on held-out text");
    wait_command->callback([chosen] { wait(*chosen); });

    add_command(*run, "report", "Print losses, digests and credit; fail if they do not agree",
                chosen)
        ->callback([chosen] { report(*chosen); });
    auto* const leaders = dedloc.add_subcommand("leaderboard", "List users by credit");
    leaders->add_option("--project", chosen->project, "The project's folder")->required();
    leaders->add_option("--count", chosen->count, "Number of users")->capture_default_str();
    leaders->callback([chosen] { print_leaderboard(*chosen); });
}

}  // namespace dedloc::cli
