// Data and all models are read before the first training, so a wrong argument costs no hours. A
// model has as many trainings as there are seeds; the untrained network has other first values in
// each. Results are printed once, at the end or when a signal arrives.
#include "project_server/finetune/command.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "boinc_app/training/footprint.hpp"
#include "boinc_app/training/task.hpp"
#include "kernels/thread_workers.hpp"
#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/memory.hpp"
#include "peer/platform/stop_signals.hpp"
#include "project_server/finetune/model_source.hpp"
#include "project_server/finetune/report.hpp"

namespace dedloc::finetune {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kProgressInterval{10};
constexpr std::uint64_t kMinTokens = 8;

/// Writes a training's progress, a line for each epoch and at most one in ten seconds between.
class Reporter {
  public:
    Reporter(std::string what, std::uint64_t epochs) : what_(std::move(what)), epochs_(epochs) {}

    void on_step(std::uint64_t done, std::uint64_t all) {
        const auto now = Clock::now();
        if (now - shown_ < kProgressInterval || done == all) return;
        shown_ = now;
        fmt::print(stderr, "{}: epoch {} of at most {}, step {} of {}\n", what_, epoch_, epochs_,
                   done, all);
    }
    void on_epoch(const EpochReport& epoch) {
        const std::chrono::duration<double> seconds = Clock::now() - began_;
        fmt::print(stderr,
                   "{}: epoch {} of at most {}: training loss {:.4f}, validation loss {:.4f}{}, "
                   "{:.1f} s\n",
                   what_, epoch.epoch, epochs_, epoch.train_loss, epoch.valid_loss,
                   epoch.is_best ? " (best)" : "", seconds.count());
        epoch_ = epoch.epoch + 1;
        began_ = shown_ = Clock::now();
    }

  private:
    const std::string what_;
    const std::uint64_t epochs_;
    std::uint64_t epoch_ = 1;
    Clock::time_point began_ = Clock::now();
    Clock::time_point shown_ = began_;
};

/// The rows of one model, whose tokenizer may be its own.
TaskData rows_for(const SourceModel& model, const LabelledData& data,
                  const CommandOptions& options) {
    const auto rows = [&](const std::vector<Example>& examples) {
        return make_rows(examples, options.task, model.encode, model.base.run.special_tokens,
                         static_cast<std::size_t>(options.protocol.max_tokens));
    };
    return {.task = options.task,
            .labels = data.labels.names(),
            .train = rows(data.train),
            .valid = rows(data.valid),
            .test = rows(data.test)};
}

std::size_t micro_batch_of(const CommandOptions& options, const formats::RunFile& run,
                           unsigned threads) {
    if (options.micro_batch != 0) return static_cast<std::size_t>(options.micro_batch);
    return static_cast<std::size_t>(training::suitable_micro_batch(
        run, {.threads = threads, .memory_bytes = platform::physical_memory()}));
}

/// Trains models one after the other, until a signal arrives.
class Trainings {
  public:
    Trainings(const CommandOptions& options, const LabelledData& data)
        : options_(options), data_(data) {
        report_ = {.task = options.task,
                   .data = options.data.string(),
                   .protocol = options.protocol,
                   .train = data.train.size(),
                   .valid = data.valid.size(),
                   .test = data.test.size(),
                   .labels = data.labels.names().size()};
    }

    /// False if a signal has arrived. `untrained`: other first values for each seed.
    bool run(const SourceModel& model, bool is_untrained) {
        const TaskData rows = rows_for(model, data_, options_);
        report_.unmeasured = std::max(report_.unmeasured, rows.test.unmeasured);
        ModelResults results{.name = is_untrained ? "untrained" : model.name, .seeds = {}};
        bool is_whole = true;
        for (std::uint64_t i = 0; is_whole && i < options_.seeds; ++i) {
            const std::uint64_t seed = options_.first_seed + i;
            const auto result = is_untrained ? train(untrained_like(model, seed), rows, seed)
                                             : train(model, rows, seed);
            is_whole = result.has_value();
            if (result) results.seeds.push_back({seed, *result});
        }
        if (!results.seeds.empty()) report_.models.push_back(std::move(results));
        return is_whole;
    }

    const TuningReport& report() const { return report_; }

  private:
    std::optional<TuningResult> train(const SourceModel& model, const TaskData& rows,
                                      std::uint64_t seed) const {
        Reporter reporter{fmt::format("{}, seed {}", model.name, seed), options_.protocol.epochs};
        const auto threads = static_cast<unsigned>(kernels::threads_within_reach(options_.threads));
        training::set_compute_threads(threads);
        return fine_tune(model.base, rows, options_.protocol, seed,
                         micro_batch_of(options_, model.base.run, threads),
                         {.is_interrupted = [this] { return signals_.arrived(); },
                          .on_epoch = [&](const EpochReport& epoch) { reporter.on_epoch(epoch); },
                          .on_step = [&](auto done, auto all) { reporter.on_step(done, all); }});
    }

    const CommandOptions& options_;
    const LabelledData& data_;
    const platform::StopSignals signals_;
    TuningReport report_;
};

void write_cards(const std::vector<SourceModel>& models, const TuningReport& report) {
    for (const SourceModel& model : models) {
        const std::string card = platform::read_text(model.card);
        platform::replace_file(model.card, card_with_section(card, report));
        fmt::print(stderr, "{} has the table now\n", model.card.string());
    }
}

void add_protocol_options(CLI::App& command, CommandOptions& options) {
    constexpr std::uint64_t kMany = 1'000'000;
    Protocol& how = options.protocol;
    command.add_option("--learning-rate", how.learning_rate, "AdamW's, falling linearly to 0")
        ->check(CLI::Range(1e-9, 1.0))
        ->capture_default_str();
    command.add_option("--weight-decay", how.weight_decay, "AdamW's, of all parameters")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    command.add_option("--batch", how.batch, "Examples of a step")
        ->check(CLI::Range(std::uint64_t{1}, kMany))
        ->capture_default_str();
    command.add_option("--epochs", how.epochs, "Epochs at most")
        ->check(CLI::Range(std::uint64_t{1}, kMany))
        ->capture_default_str();
    command
        .add_option("--patience", how.patience,
                    "Epochs without enough gain in validation loss before training ends")
        ->check(CLI::Range(std::uint64_t{1}, kMany))
        ->capture_default_str();
    command.add_option("--threshold", how.threshold, "Gain of validation loss that is enough")
        ->check(CLI::Range(0.0, 100.0))
        ->capture_default_str();
    command.add_option("--max-tokens", how.max_tokens, "Tokens of an example; the rest is cut off")
        ->check(CLI::Range(kMinTokens, std::uint64_t{8'192}))
        ->capture_default_str();
    command.add_option("--seeds", options.seeds, "Trainings of each model")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000}))
        ->capture_default_str();
    command.add_option("--first-seed", options.first_seed, "Seed of the first one")
        ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 62))
        ->capture_default_str();
}

}  // namespace

CLI::App* add_command(CLI::App& app, CommandOptions& options) {
    auto* const command = app.add_subcommand(
        "finetune",
        "Fine-tune models on a task with labels and measure them, by DeDLOC's protocol: the epoch "
        "with the least validation loss is kept, and the test data are measured at the end");
    const std::map<std::string, Task> tasks{{"ner", Task::kNames}, {"classify", Task::kClasses}};
    command
        ->add_option_function<std::string>(
            "--task", [&options, tasks](const auto& name) { options.task = tasks.at(name); },
            "ner: names in a text; classify: classes of texts")
        ->check(CLI::IsMember({"ner", "classify"}))
        ->required();
    command
        ->add_option("--data", options.data,
                     "Folder with train, valid (or dev) and test: of names .iob, a word, a tab and "
                     "its tag in a line, an empty line between sentences; of classes .tsv, columns "
                     "text and category")
        ->required();
    command
        ->add_option("MODEL", options.models,
                     "A Hugging Face folder of ALBERT, as dedloc run export writes; or a run's "
                     "folder: its newest checkpoint; or one checkpoint there")
        ->required();
    add_protocol_options(*command, options);
    command->add_flag("!--no-untrained", options.has_untrained,
                      "Do not measure the untrained network beside the models");
    command->add_flag("--card", options.writes_cards,
                      "Add the table to README.md of each model, in place of an earlier one");
    command
        ->add_option("--micro-batch", options.micro_batch,
                     "Examples computed at once; default: as suits model, memory and CPUs")
        ->check(CLI::Range(1, 65'536));
    command->add_option("--threads", options.threads, "Compute threads; default: one for each CPU")
        ->check(CLI::Range(1, 1'024));
    command->add_flag("--json", options.prints_json, "Print a JSON object");
    return command;
}

void run_command(const CommandOptions& options) {
    const LabelledData data = read_labelled(options.data, options.task);
    std::vector<SourceModel> models;
    for (const fs::path& path : options.models) {
        models.push_back(load_model(path, options.protocol.max_tokens));
        if (!models.back().notice.empty()) fmt::print(stderr, "{}\n", models.back().notice);
        if (options.writes_cards && models.back().card.empty()) {
            throw InputError(fmt::format("{} has no README.md for --card", path.string()));
        }
    }
    Trainings trainings{options, data};
    bool is_whole = !options.has_untrained || trainings.run(models.front(), true);
    for (const SourceModel& model : models) {
        is_whole = is_whole && trainings.run(model, false);
    }
    const TuningReport& report = trainings.report();
    if (!report.models.empty()) {
        fmt::print("{}", options.prints_json ? report_json(report) + "\n" : report_text(report));
    }
    if (!is_whole) throw Error("interrupted: only trainings that were finished are shown");
    if (options.writes_cards) write_cards(models, report);
}

}  // namespace dedloc::finetune
