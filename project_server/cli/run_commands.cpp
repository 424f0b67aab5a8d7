// The parser writes straight into runs::RunOptions; an option without a default stays absent when
// it is not given, and create_run() chooses its value. Options with names for values convert them
// while they are parsed, so a wrong name is an error of the command line. The public address of an
// official server is asked once after a run was created there, because its administrator has to
// forward requests to the gateway; a wrong answer is a warning only.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "peer/formats/module_spec.hpp"
#include "peer/wire/limits.hpp"
#include "project_server/check/public_address.hpp"
#include "project_server/cli/commands.hpp"
#include "project_server/cli/output.hpp"
#include "project_server/cli/progress.hpp"
#include "project_server/project/project.hpp"
#include "project_server/runs/create.hpp"
#include "project_server/runs/find_run.hpp"
#include "project_server/runs/jobs.hpp"
#include "project_server/runs/masked_lines.hpp"
#include "project_server/runs/model_import.hpp"
#include "project_server/settings.hpp"

namespace dedloc::cli {
namespace {

constexpr double kMaxCreditPerGigabyte = 1e6;

void print_json(const runs::CreatedRun& created, double per_gigabyte) {
    json::Value::List initialised;
    for (const auto& tensor : created.initialised) initialised.emplace_back(tensor);
    const auto& run = created.run;
    json::Value data;
    data.set("name", run.name)
        .set("id", formats::run_id(run).hex())
        .set("parameters", formats::parameter_count(run))
        .set("steps", run.steps)
        .set("target_batch", run.target_batch)
        .set("credit_per_sample", formats::credit_per_sample(run))
        .set("credit_per_gigabyte_reduced", per_gigabyte)
        .set("initialised", std::move(initialised));
    print(data, true);
}

/// Under an official server the administrator configures what forwards requests to the gateway.
void warn_of_address(const std::filesystem::path& folder) {
    const auto project = project::existing_project(folder);
    if (!server::is_official(project)) return;
    const auto found = check::ask_public_address(project, server::read_settings(project));
    if (found.answer == check::PublicAnswer::kGateway) return;
    fmt::print(stderr, "dedloc: {}{}{}\n", found.sentence, found.advice.empty() ? "" : "; ",
               found.advice);
}

void create(const runs::RunOptions& options, bool as_json) {
    const runs::CreatedRun created = [&] {
        Progress progress{as_json};
        progress.say("reading the corpus");
        return runs::create_run(options, progress.begins());
    }();
    warn_of_address(options.project);
    if (as_json) return print_json(created, options.credit_per_gigabyte);
    const auto& [run, initialised] = created;
    const std::string notice = runs::notice_of(options.from, initialised);
    if (!notice.empty()) fmt::print("{}\n", notice);
    fmt::print(
        "run {}: {} parameters, {} steps of {} samples, {:.3g} credit a sample, {:.3g} a "
        "gigabyte reduced, id {}\n",
        run.name, formats::parameter_count(run), run.steps, run.target_batch,
        formats::credit_per_sample(run), options.credit_per_gigabyte, formats::run_id(run).brief());
}

/// An option whose value is one of these names.
template <std::size_t kCount, class Choose>
CLI::Option* add_choice(CLI::App& command, const char* name, const char* what,
                        const std::array<const char*, kCount>& names, const Choose& choose) {
    return command.add_option_function<std::string>(name, choose, what)
        ->check(CLI::IsMember(std::vector<std::string>(names.begin(), names.end())));
}

void add_optimizer(CLI::App& command, const std::shared_ptr<runs::RunOptions>& options) {
    add_choice(command, "--optimizer", "LAMB as DeDLOC or NVIDIA, SGD with momentum, also in LARC",
               formats::kOptimizerNames,
               [options](const std::string& name) {
                   options->optimizer = *formats::optimizer_named(name);
               })
        ->default_str("lamb for text, sgd_larc for pictures");
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
        .add_option("--start-learning-rate", options->start_learning_rate,
                    "Rate from which the warm-up starts; default: 0")
        ->check(CLI::NonNegativeNumber);
    command
        .add_option("--final-learning-rate", options->final_learning_rate,
                    "Rate at which a linear or cosine schedule ends; default: with sgd_larc a "
                    "500th of the peak, else 0")
        ->check(CLI::NonNegativeNumber);
    command
        .add_option("--weight-decay", options->weight_decay,
                    "Decay of weights; default: by optimizer")
        ->check(CLI::NonNegativeNumber);
    command
        .add_option("--clip-norm", options->clip_norm,
                    "Largest norm of an averaged gradient, 0: none; default: by optimizer")
        ->check(CLI::NonNegativeNumber);
}

/// The values of both commands' option differ in type only: an absent one keeps the number.
template <class Number>
CLI::Option* add_aggregators(CLI::App& command, Number& aggregators) {
    return command
        .add_option("--aggregators", aggregators,
                    "The most volunteers at a time that only average, for which dedloc_aggregate "
                    "must be published")
        ->check(CLI::Range(0, 10'000));
}

void add_evaluation(CLI::App& command, const std::shared_ptr<runs::RunOptions>& options) {
    command.add_option("--evaluate-every", options->evaluate_every,
                       "Steps between two evaluations on held-out data by dedloc-evaluate, 0: "
                       "none; default: a fiftieth of the steps");
    command
        .add_option("--evaluate-samples", options->evaluate_samples,
                    "Held-out samples of an evaluation")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    command.add_option("--masked-sentences", options->masked_sentences,
                       "File of sentences with [MASK] for one word, which the model answers at "
                       "each evaluation; a tab and the right word may follow; default: drawn from "
                       "held-out text");
}

void add_network(CLI::App& command, const std::shared_ptr<runs::RunOptions>& options) {
    auto* const model =
        command
            .add_option("--model", options->model,
                        "tiny, base, large, xlarge, or a Hugging Face config.json of any ALBERT; "
                        "for pictures swav-tiny, swav-resnet18, swav-resnet50")
            ->default_str("tiny, or swav-tiny for pictures");
    auto* const module =
        command
            .add_option("--module", options->module,
                        "Train this TorchScript module instead (torch.jit.save), on text, "
                        "pictures or a corpus of --tensors")
            ->excludes(model);
    command
        .add_option("--sequence-length", options->sequence_length,
                    "Tokens of a sample of text for a module")
        ->check(CLI::Range(8, 1'048'576))
        ->capture_default_str()
        ->needs(module);
    command
        .add_option("--picture-side", options->picture_side,
                    "Pixels of the side of the square that a module gets of each picture")
        ->check(CLI::Range(std::uint64_t{1}, formats::kMaxPictureSide))
        ->capture_default_str()
        ->needs(module);
}

void add_create(CLI::App& group) {
    const auto options = std::make_shared<runs::RunOptions>();  // shared by parser and callback
    auto* const command = group.add_subcommand("create", "Create a run: model, corpus, settings");
    command->add_option("--project", options->project, "The project's folder")->required();
    command->add_option("--name", options->name, "Name of the run")->required();
    command->add_option("--corpus", options->corpus, "Folder made by dedloc corpus build")
        ->required();
    add_network(*command, options);
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
    add_evaluation(*command, options);
    command
        ->add_option("--credit-per-gigabyte", options->credit_per_gigabyte,
                     "Credit for averaging 10^9 bytes of other volunteers' gradients")
        ->check(CLI::Range(0.0, kMaxCreditPerGigabyte))
        ->capture_default_str();
    add_aggregators(*command, options->aggregators)->capture_default_str();
    const auto as_json = std::make_shared<bool>(false);
    command->add_flag("--json", *as_json, "Print JSON");
    command->callback([options, as_json] { create(*options, *as_json); });
}

void add_jobs(CLI::App& group) {
    struct Chosen {
        std::filesystem::path project;
        std::string run;
        runs::RunJobs jobs{};
        bool prints_json = false;
    };
    const auto chosen = std::make_shared<Chosen>();  // shared by parser and callback
    auto* const command = group.add_subcommand(
        "jobs",
        "Print or set how many jobs are kept ready, how long each lasts, and how many only "
        "average; "
        "holds from the next job that is made, within seconds. --ready 0 and --hours 0: as "
        "dedloc-work was started, 16 jobs of 12 hours by default");
    command->add_option("--project", chosen->project, "The project's folder")->required();
    command->add_option("--name", chosen->run, "The run's name")->required();
    command->add_option("--ready", chosen->jobs.seats_ready, "Unsent jobs kept for volunteers")
        ->check(CLI::Range(0, 10'000));
    command->add_option("--hours", chosen->jobs.lease_hours, "Hours after which a job reports")
        ->check(CLI::Range(0, 1'000));
    add_aggregators(*command, chosen->jobs.aggregators);
    command->add_flag("--json", chosen->prints_json, "Print JSON");
    command->callback([chosen] {
        project::ProjectDatabase access{project::existing_project(chosen->project)};
        print(runs::run_jobs(access.database(), chosen->run, chosen->jobs), chosen->prints_json);
    });
}

void add_sentences(CLI::App& group) {
    struct Chosen {
        std::filesystem::path project;
        std::string run;
        std::filesystem::path file;
        bool is_drawn = false;
        bool prints_json = false;
    };
    const auto chosen = std::make_shared<Chosen>();  // shared by parser and callback
    auto* const command = group.add_subcommand(
        "sentences",
        "Choose the masked sentences that the model answers at each evaluation, from the next one "
        "on; without --file and --drawn, print how many are chosen");
    command->add_option("--project", chosen->project, "The project's folder")->required();
    command->add_option("--name", chosen->run, "The run's name")->required();
    auto* const file = command->add_option(
        "--file", chosen->file,
        "At most 8 sentences, one in a line, with [MASK] for one word; a tab and the right word "
        "may follow");
    auto* const drawn = command->add_flag("--drawn", chosen->is_drawn,
                                          "Sentences drawn from held-out text, as by default");
    file->excludes(drawn);
    command->add_flag("--json", chosen->prints_json, "Print JSON");
    command->callback([chosen] {
        const auto files = runs::find_run(chosen->project, chosen->run);
        const bool is_change = chosen->is_drawn || !chosen->file.empty();
        const std::size_t count =
            is_change ? runs::set_masked_lines(files.folder, files.run, chosen->file)
                      : runs::count_masked_lines(files.folder);
        json::Value data;
        data.set("run", chosen->run).set("sentences", count).set("is_drawn", count == 0);
        print(data, chosen->prints_json);
    });
}

}  // namespace

void add_run_commands(CLI::App& dedloc) {
    auto* const run = dedloc.add_subcommand("run", "Create, watch and control a run");
    run->require_subcommand(1);
    add_create(*run);
    add_jobs(*run);
    add_sentences(*run);
    add_live_commands(*run);
    add_source_commands(*run);
    add_voter_commands(*run);
    add_model_commands(*run);
    add_report_commands(dedloc, *run);
    add_activity_commands(dedloc, *run);
}

}  // namespace dedloc::cli
