// dedloc run add-source.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "project_server/cli/commands.hpp"
#include "project_server/cli/output.hpp"
#include "project_server/cli/progress.hpp"
#include "project_server/runs/add_source.hpp"

namespace dedloc::cli {
namespace {

struct SourceChoice {
    runs::AddSourceOptions options;
    bool prints_json = false;
};

void add_new_source(const SourceChoice& chosen) {
    Progress progress{chosen.prints_json};
    const auto added =
        runs::add_source(chosen.options, [&](const std::string& what) { progress.say(what); });
    if (chosen.prints_json) {
        json::Value data;
        data.set("run", chosen.options.run)
            .set("source", added.name)
            .set("licence", added.licence)
            .set("digest", added.digest.hex())
            .set("shards", added.shards)
            .set("held_out_shards", added.held_out)
            .set("bytes", added.bytes)
            .set("is_new", added.is_new)
            .set("is_put_back", added.is_put_back);
        return print(data, true);
    }
    if (added.is_put_back) {
        fmt::print("run {} has the files of source {} again\n", chosen.options.run, added.name);
        return;
    }
    if (!added.is_new) {
        fmt::print("run {} has source {} already\n", chosen.options.run, added.name);
        return;
    }
    fmt::print(
        "run {} has source {} now: {} shard{}, {} of them held out, {:.1f} MB. Jobs that are made "
        "from now on have shards of it. No sample is drawn from it until dedloc run mix gives it a "
        "weight\n",
        chosen.options.run, added.name, added.shards + added.held_out,
        added.shards + added.held_out == 1 ? "" : "s", added.held_out,
        static_cast<double>(added.bytes) / 1e6);
}

}  // namespace

void add_source_commands(CLI::App& run) {
    const auto chosen = std::make_shared<SourceChoice>();  // shared by parser and callback
    auto* const command = run.add_subcommand(
        "add-source", "Add a source to a run that works: a corpus that its tokenizer made");
    auto& options = chosen->options;
    command->add_option("--project", options.project, "The project's folder")->required();
    command->add_option("--name", options.run, "The run's name")->required();
    command
        ->add_option("--corpus", options.corpus,
                     "Folder of a corpus, as dedloc corpus build makes it with the run's tokenizer")
        ->required();
    command->add_option("--source", options.source,
                        "Which source of the corpus; of a corpus without sources: its name");
    command->add_option("--licence", options.licence,
                        "What may be done with its texts (default: what the corpus says)");
    command->add_flag("--json", chosen->prints_json, "Print JSON");
    command->callback([chosen] { add_new_source(*chosen); });
}

}  // namespace dedloc::cli
