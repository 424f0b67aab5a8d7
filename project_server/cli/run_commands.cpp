#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "peer/wire/limits.hpp"
#include "project_server/cli/commands.hpp"
#include "project_server/cli/model_import.hpp"
#include "project_server/cli/run.hpp"

namespace dedloc::cli {
namespace {

void create(const RunOptions& options) {
    const auto [run, initialised] = create_run(options);
    const std::string notice = notice_of(options.from, initialised);
    if (!notice.empty()) fmt::print("{}\n", notice);
    fmt::print("run {}: {} parameters, {} steps of {} samples, {:.3g} credit a sample, id {}\n",
               run.name, formats::parameter_count(run), run.steps, run.target_batch,
               formats::credit_per_sample(run), formats::run_id(run).brief());
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
    add_report_commands(dedloc, *run);
}

}  // namespace dedloc::cli
