// dedloc run export, contributions and sources, and dedloc run checkpoint with its subcommands.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/formats/contribution_list.hpp"
#include "project_server/cli/commands.hpp"
#include "project_server/cli/output.hpp"
#include "project_server/cli/progress.hpp"
#include "project_server/runs/checkpoints.hpp"
#include "project_server/runs/control.hpp"
#include "project_server/runs/find_run.hpp"
#include "project_server/runs/model_export.hpp"
#include "project_server/runs/source_counts.hpp"

namespace dedloc::cli {
namespace {

namespace fs = std::filesystem;

/// Options of `run contributions` and of the subcommands of `run checkpoint`.
struct CheckpointOptions {
    fs::path project;
    std::string run;
    fs::path folder;
    std::vector<fs::path> files;
    bool prints_json = false;

    backbone::RunFiles read() const {
        if (!folder.empty()) return backbone::read_run_files(folder);
        if (project.empty()) throw InputError("name a run: --project with --name, or --folder");
        return runs::find_run(project, run);
    }
};

backbone::LedgerProof proof_of(const backbone::RunFiles& files, Progress& progress) {
    return runs::read_proof(files, [&](std::uint64_t done, std::uint64_t total) {
        progress.share("verifying the ledger",
                       static_cast<double>(done) / static_cast<double>(total));
    });
}

const char* word_of(backbone::Standing standing) {
    switch (standing) {
        case backbone::Standing::kProven:
            return "proven";
        case backbone::Standing::kLast:
            return "last step";
        case backbone::Standing::kUnproven:
            break;
    }
    return "not in the ledger";
}

/// The source of a checkpoint: the backbone, or an upload.
std::string source_of(const backbone::CheckpointEntry& file) {
    return file.source.empty() ? "backbone" : file.source;
}

template <class Checkpoints>
void print_list_json(const backbone::RunFiles& files, const backbone::LedgerProof& proof,
                     const Checkpoints& checkpoints) {
    json::Value::List list;
    for (const auto& [file, standing] : checkpoints) {
        json::Value data;
        data.set("step", file.head.step.value())
            .set("bytes", file.bytes)
            .set("digest", file.head.digest.hex())
            .set("standing", word_of(standing))
            .set("source", source_of(file))
            .set("file", file.path.string());
        list.push_back(std::move(data));
    }
    json::Value data;
    data.set("run", files.run.name)
        .set("ledger_step", proof.head().step.value())
        .set("checkpoints", std::move(list));
    print(data, true);
}

void list_contributions(const CheckpointOptions& options) {
    const backbone::RunFiles files = options.read();
    Progress progress{options.prints_json};
    const auto proof = proof_of(files, progress);
    const runs::RecordMixtures mixtures{files};
    json::Value::List list;
    proof.visit_decisions(proof.head().step, [&](const CommitRecord& decided) {
        for (const CommitLine& line : decided.members) {
            if (line.samples == Samples{0}) continue;
            const auto weights = mixtures.weights(decided, line);
            if (!options.prints_json) {
                fmt::print("{}", formats::contribution_line({.step = decided.step,
                                                             .peer = line.peer,
                                                             .samples = line.samples,
                                                             .weights = weights}));
                continue;
            }
            json::Value data;
            data.set("step", decided.step.value())
                .set("peer", line.peer.hex())
                .set("samples", line.samples.value())
                .set("weights", json::Value::List(weights.begin(), weights.end()));
            list.push_back(std::move(data));
        }
    });
    if (!options.prints_json) return;
    json::Value data;
    data.set("run", files.run.name)
        .set("steps", proof.head().step.value())
        .set("contributions", std::move(list));
    print(data, true);
}

json::Value source_data(const std::string& name, const runs::SourceCount& source) {
    const json::Value none{nullptr};
    json::Value data;
    data.set("name", name)
        .set("share", source.share)
        .set("samples", source.samples)
        .set("expected", source.expected)
        .set("expected_error", std::sqrt(source.variance))
        .set("training_loss", source.loss ? json::Value{source.loss->loss} : none)
        .set("training_loss_error", source.loss ? json::Value{source.loss->error} : none);
    return data;
}

void print_sources_json(const backbone::RunFiles& files, std::uint64_t steps,
                        const std::vector<runs::MixtureCount>& counts) {
    json::Value::List mixtures;
    for (const runs::MixtureCount& count : counts) {
        json::Value::List sources;
        for (std::size_t i = 0; i < count.sources.size(); ++i) {
            sources.push_back(source_data(files.run.sources[i].name, count.sources[i]));
        }
        json::Value mixture;
        mixture.set("first_step", count.first.value())
            .set("last_step", count.last.value())
            .set("samples", count.samples)
            .set("samples_of_older_jobs", count.samples_of_older)
            .set("sources", std::move(sources));
        mixtures.push_back(std::move(mixture));
    }
    json::Value data;
    data.set("run", files.run.name).set("steps", steps).set("mixtures", std::move(mixtures));
    print(data, true);
}

/// "  web        50.00 %      1290 samples, 1280.0 ± 25.3 expected  training loss 5.4321 ± 0.0123".
std::string source_line(const std::string& name, const runs::SourceCount& source) {
    std::string line = fmt::format("  {:<16} {:>6.2f} %  {:>10} samples, {:.1f} ± {:.1f} expected",
                                   name, 100 * source.share, source.samples, source.expected,
                                   std::sqrt(source.variance));
    if (source.loss) {
        line +=
            fmt::format("; training loss {:.4f} ± {:.4f}", source.loss->loss, source.loss->error);
    }
    return line;
}

void list_sources(const CheckpointOptions& options) {
    const backbone::RunFiles files = options.read();
    Progress progress{options.prints_json};
    const auto proof = proof_of(files, progress);
    const auto counts = runs::count_sources(files, proof);
    const std::uint64_t steps = proof.head().step.value();
    if (options.prints_json) return print_sources_json(files, steps, counts);
    fmt::print("run {}: {} steps in the verified ledger\n", files.run.name, steps);
    for (const runs::MixtureCount& count : counts) {
        fmt::print("steps {} to {}: {} samples{}\n", count.first.value(), count.last.value(),
                   count.samples,
                   count.samples_of_older == 0
                       ? ""
                       : fmt::format(", {} of them by jobs that are older than a source",
                                     count.samples_of_older));
        for (std::size_t i = 0; i < count.sources.size(); ++i) {
            fmt::print("{}\n", source_line(files.run.sources[i].name, count.sources[i]));
        }
    }
}

void list(const CheckpointOptions& options) {
    const backbone::RunFiles files = options.read();
    Progress progress{options.prints_json};
    const auto proof = proof_of(files, progress);
    const auto checkpoints = runs::checkpoints_of(files, proof);
    if (options.prints_json) return print_list_json(files, proof, checkpoints);
    fmt::print("run {}: {} checkpoints, the ledger ends at step {}\n", files.run.name,
               checkpoints.size(), proof.head().step.value());
    for (const auto& [file, standing] : checkpoints) {
        fmt::print("step {:>9}  {:>9.1f} MB  {}  {:<17}  {}  {}\n", file.head.step.value(),
                   static_cast<double>(file.bytes) / 1e6, file.head.digest.hex(), word_of(standing),
                   file.path.filename().string(), source_of(file));
    }
}

void verify(const CheckpointOptions& options) {
    const backbone::RunFiles files = options.read();
    Progress progress{options.prints_json};
    const auto proof = proof_of(files, progress);
    std::vector<fs::path> wanted = options.files;
    if (wanted.empty()) {
        for (const auto& checkpoint : runs::checkpoints_of(files, proof)) {
            wanted.push_back(checkpoint.file.path);
        }
        if (wanted.empty()) {
            throw InputError(fmt::format("the run {} has no checkpoint", files.run.name));
        }
    }
    std::size_t refused = 0;
    json::Value::List verdicts;
    for (const fs::path& file : wanted) {
        std::error_code unknown;
        const auto size = static_cast<double>(fs::file_size(file, unknown));
        const runs::Verdict verdict =
            runs::verify_checkpoint(files, proof, file, [&](std::uint64_t offset, auto) {
                progress.share("verifying the state", static_cast<double>(offset) / size);
            });
        const auto text = fmt::format("{}: {}", file.filename().string(), verdict.sentence);
        // The newest state of a running run is proven one step later.
        const bool may_wait = options.files.empty() && verdict.is_pending;
        const bool is_refused = !verdict.is_proven && !may_wait;
        if (is_refused && wanted.size() == 1 && !options.prints_json) throw Error(text);
        if (!options.prints_json) fmt::print("{}\n", text);
        json::Value data;
        data.set("file", file.string())
            .set("is_proven", verdict.is_proven)
            .set("is_pending", verdict.is_pending);
        verdicts.push_back(std::move(data.set("verdict", verdict.sentence)));
        refused += is_refused ? 1 : 0;
    }
    if (options.prints_json) {
        json::Value data;
        print(data.set("files", std::move(verdicts)), true);
    }
    if (refused > 0) {
        throw Error(fmt::format("{} of {} files hold no proven state", refused, wanted.size()));
    }
}

void export_to(const runs::ExportOptions& options, bool as_json) {
    Progress progress{as_json};
    progress.say("asking the backbone for a checkpoint");
    // The newest state, unless a step or a file is named.
    if (!options.step && options.checkpoint.empty()) {
        (void)runs::checkpoint_now(options.project, options.run);
    }
    runs::ExportOptions shown = options;
    shown.progress = [&](const char* what, double share) { progress.share(what, share); };
    const runs::ExportedModel model = runs::export_model(shown);
    if (as_json) {
        json::Value data;
        data.set("run", options.run)
            .set("step", model.step.value())
            .set("parameters", model.parameters)
            .set("samples", model.samples)
            .set("is_proven", model.is_proven)
            .set("state", model.state.hex())
            .set("folder", options.folder.string());
        return print(data, true);
    }
    const std::string standing =
        model.is_proven ? fmt::format("{} samples", model.samples) : "not proven by the ledger";
    fmt::print("exported step {} of {}: {} parameters, {}, state {}, to {}\n", model.step.value(),
               options.run, model.parameters, standing, model.state.brief(),
               options.folder.string());
}

void add_export(CLI::App& run) {
    const auto options = std::make_shared<runs::ExportOptions>();  // shared by parser and callback
    auto* const command = run.add_subcommand(
        "export",
        "Write the model as a folder that Hugging Face's from_pretrained or torchvision loads; of "
        "a module, the module itself with the trained parameters");
    command->add_option("--project", options->project, "The project's folder")->required();
    command->add_option("--name", options->run, "The run's name")->required();
    command->add_option("--format", "Format of the folder")
        ->check(CLI::IsMember({"huggingface"}))
        ->default_str("huggingface");
    auto* const step = command->add_option_function<std::uint64_t>(
        "--step", [options](std::uint64_t number) { options->step = StepIndex{number}; },
        "The state after so many updates; default: the newest that the ledger proves");
    command
        ->add_option("--checkpoint", options->checkpoint,
                     "Instead: a checkpoint of the run from any source, proven or not, as "
                     "dedloc_train local writes")
        ->excludes(step);
    command->add_option("--norms", options->norms,
                        "Of pictures: a folder with statistics of batch norms, as dedloc-evaluate "
                        "--norms writes; default: that of the run");
    command->add_option("folder", options->folder, "Output folder, must not exist yet")->required();
    const auto as_json = std::make_shared<bool>(false);
    command->add_flag("--json", *as_json, "Print JSON");
    command->callback([options, as_json] { export_to(*options, *as_json); });
}

CLI::App* add_checkpoint_command(CLI::App& group, const char* name, const char* what,
                                 const std::shared_ptr<CheckpointOptions>& options) {
    auto* const command = group.add_subcommand(name, what);
    auto* const project =
        command->add_option("--project", options->project, "The project's folder");
    auto* const run = command->add_option("--name", options->run, "The run's name")->needs(project);
    project->needs(run);
    command
        ->add_option("--folder", options->folder,
                     "Instead of a project: a folder with run.json and ledger, as a voter has")
        ->excludes(project);
    command->add_flag("--json", options->prints_json, "Print JSON");
    return command;
}

}  // namespace

void add_model_commands(CLI::App& run) {
    add_export(run);
    const auto proven = std::make_shared<CheckpointOptions>();  // shared by parser and callback
    add_checkpoint_command(run, "contributions",
                           "List the samples of each peer in each step, by the run's ledger",
                           proven)
        ->callback([proven] { list_contributions(*proven); });
    add_checkpoint_command(run, "sources",
                           "Count the samples of each source of the corpus by the run's ledger, "
                           "mixture by mixture, and estimate its training loss",
                           proven)
        ->callback([proven] { list_sources(*proven); });
    auto* const group = run.add_subcommand(
        "checkpoint", "List and verify whole states on disk by the run's ledger");
    group->require_subcommand(1);
    const auto options = std::make_shared<CheckpointOptions>();  // shared by parser and callbacks
    add_checkpoint_command(*group, "list", "List the run's checkpoints, and which are proven",
                           options)
        ->callback([options] { list(*options); });
    auto* const verifying = add_checkpoint_command(
        *group, "verify",
        "Prove states from the run file's keys alone; exit status 1 if one is not proven", options);
    verifying->add_option("file", options->files,
                          "Checkpoints from any source; default: all of the run's folder");
    verifying->callback([options] { verify(*options); });
}

}  // namespace dedloc::cli
