// A thread of its own waits for stop signals and ends the process at once: the build's journal
// makes everything up to the last shard count, and the training of a tokenizer cannot be
// interrupted otherwise. A tokenizer that loses capitals is a warning before the build, a corpus
// that looks wrong one after it; neither changes the exit status. An option for the rules of a
// spiece.model creates the rules when it is given, so absent options leave them absent.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "peer/base/error.hpp"
#include "project_server/cli/commands.hpp"
#include "project_server/cli/corpus_of_pictures.hpp"
#include "project_server/cli/end_at_signal.hpp"
#include "project_server/cli/output.hpp"
#include "project_server/cli/progress.hpp"
#include "project_server/corpus/build.hpp"
#include "project_server/corpus/tensor_corpus.hpp"

namespace dedloc::cli {
namespace {

/// What a corpus has of a source.
struct SourceView {
    const formats::SourceSpec* spec = nullptr;
    double share = 0;  ///< part of the samples
    std::size_t shards = 0, held_out = 0;
    std::uint64_t bytes = 0;  ///< size of the shards that are not held out
};

std::vector<SourceView> views_of(const corpus::Corpus& built) {
    std::vector<SourceView> views;
    double sum = 0;
    for (const auto& source : built.sources) {
        views.push_back({.spec = &source});
        sum += static_cast<double>(source.weight);
    }
    for (SourceView& view : views) view.share = static_cast<double>(view.spec->weight) / sum;
    for (const auto& shard : built.shards) {
        if (views.empty()) break;
        SourceView& view = views[shard.source];
        ++(shard.is_held_out ? view.held_out : view.shards);
        if (!shard.is_held_out) view.bytes += shard.bytes;
    }
    return views;
}

json::Value value_of(const std::vector<SourceView>& sources) {
    json::Value::List list;
    for (const SourceView& source : sources) {
        json::Value value;
        value.set("name", source.spec->name)
            .set("share", source.share)
            .set("licence", source.spec->licence)
            .set("shards", source.shards)
            .set("held_out_shards", source.held_out)
            .set("bytes", source.bytes);
        list.push_back(std::move(value));
    }
    return list;
}

void print_json(const corpus::BuildOptions& options, const corpus::Corpus& built) {
    json::Value data;
    data.set("folder", options.folder.string())
        .set("documents", built.documents)
        .set("held_out", built.held_out)
        .set("sentences", built.sentences)
        .set("tokens", built.tokens)
        .set("unknown", built.unknown)
        .set("unknown_share", corpus::unknown_share(built))
        .set("vocabulary", built.vocabulary)
        .set("shards", built.shards.size())
        .set("warning", corpus::warning_of(built));
    if (!built.sources.empty()) data.set("sources", value_of(views_of(built)));
    print(data, true);
}

void show(Progress& shown, const corpus::BuildProgress& progress) {
    using Task = corpus::BuildProgress::Task;
    if (progress.task == Task::kTraining) return shown.say("training the tokenizer");
    std::string tokens;
    if (progress.task != Task::kReading) {
        const auto count = static_cast<double>(std::max<std::uint64_t>(1, progress.tokens));
        tokens = fmt::format("{:.1f} million tokens, {:.2f} % unknown",
                             static_cast<double>(progress.tokens) / 1e6,
                             100 * static_cast<double>(progress.unknown) / count);
    }
    const char* what = "tokenising";
    if (progress.task == Task::kReading) what = "reading";
    if (progress.task == Task::kHoldingOut) what = "tokenising what is held out,";
    shown.advance(what, progress.done, progress.total, tokens);
}

/// What the tokenizer did to the text, for the summary.
std::string rules_of(const corpus::Corpus& built) {
    if (!built.rules) return {};
    return fmt::format(", {}, accents {}", built.rules->lower_case ? "lower case" : "capitals kept",
                       built.rules->strips_accents ? "removed" : "kept");
}

void build(const corpus::BuildOptions& options, bool as_json) {
    const EndAtSignal end_at_signal;
    if (const auto lost = corpus::warning_of_tokenizer(options); !lost.empty()) {
        fmt::print(stderr, "dedloc: {}\n", lost);
    }
    corpus::Corpus built;
    {
        Progress shown{as_json};
        built = corpus::build_corpus(options, [&](const auto& progress) { show(shown, progress); });
    }
    if (as_json) return print_json(options, built);
    fmt::print(
        "{}: {} documents ({} held out), {} sentences, {} tokens of {} kinds in {} shard{}, "
        "{:.2f} % unknown{}\n",
        options.folder.string(), built.documents, built.held_out, built.sentences, built.tokens,
        built.vocabulary, built.shards.size(), built.shards.size() == 1 ? "" : "s",
        100 * corpus::unknown_share(built), rules_of(built));
    for (const SourceView& source : views_of(built)) {
        fmt::print("  {}: {:.1f} % of the samples, {} shard{} ({:.1f} MB), {} held out{}\n",
                   source.spec->name, 100 * source.share, source.shards,
                   source.shards == 1 ? "" : "s", static_cast<double>(source.bytes) / 1e6,
                   source.held_out,
                   source.spec->licence.empty() ? "" : ", licence: " + source.spec->licence);
        if (source.held_out > 0 || options.held_out == 0) continue;
        fmt::print(stderr, "dedloc: source {} has no held-out document, so nothing measures it\n",
                   source.spec->name);
    }
    const auto warning = corpus::warning_of(built);
    if (!warning.empty()) fmt::print(stderr, "dedloc: {}\n", warning);
}

/// The same for tensors. `common` has the options that both kinds have.
void build_tensors(const corpus::BuildOptions& common, corpus::TensorOptions options,
                   bool as_json) {
    options.held_out = common.held_out;
    options.folder = common.folder;
    options.seed = common.seed;
    const corpus::TensorCorpus built = corpus::build_tensor_corpus(options);
    if (as_json) {
        json::Value data;
        data.set("folder", options.folder.string())
            .set("samples", built.samples)
            .set("held_out", built.held_out)
            .set("inputs", built.inputs.size())
            .set("shards", built.shards.size());
        return print(data, true);
    }
    fmt::print("{}: {} samples ({} held out) of {} tensors in {} shard{}\n",
               options.folder.string(), built.samples, built.held_out, built.inputs.size(),
               built.shards.size(), built.shards.size() == 1 ? "" : "s");
}

/// Options that say whose ids a corpus has.
void add_tokenizer_options(CLI::App& command,
                           const std::shared_ptr<corpus::BuildOptions>& options) {
    auto* const tokenizer = command.add_option("--tokenizer", options->tokenizer,
                                               "Use the tokenizer of this Hugging Face folder, "
                                               "this tokenizer.json, or this spiece.model (with "
                                               "what the files beside it say); train none");
    const auto rules = [options]() -> tokenizer::AlbertRules& {
        // An option that is not given is off; AlbertTokenizer's defaults are not used here.
        if (!options->rules) options->rules = {.lower_case = false, .keep_accents = false};
        return *options->rules;
    };
    command
        .add_flag_callback(
            "--lower-case", [rules] { rules().lower_case = true; },
            "With a spiece.model alone: as AlbertTokenizer with do_lower_case, which removes "
            "accents too")
        ->needs(tokenizer);
    command
        .add_flag_callback(
            "--keep-accents", [rules] { rules().keep_accents = true; },
            "With a spiece.model alone: as AlbertTokenizer with keep_accents")
        ->needs(tokenizer);
    command
        .add_option("--max-unknown", options->max_unknown,
                    "Largest share of tokens for text that the tokenizer does not know")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    command.add_option("--vocabulary", options->vocabulary, "Number of pieces of the tokenizer")
        ->check(CLI::Range(100, 65'535))
        ->capture_default_str()
        ->excludes(tokenizer);
}

/// Options for the sources of a corpus.
void add_source_options(CLI::App& command, const std::shared_ptr<corpus::BuildOptions>& options) {
    command.add_option_function<std::vector<std::string>>(
        "--source",
        [options](const std::vector<std::string>& sources) {
            for (const auto& text : sources) {
                options->sources.push_back(corpus::parse_source(text));
            }
        },
        "NAME=PATH or NAME=PATH:WEIGHT: a source of samples, a file of text or a folder of "
        "them, and how often samples come from it, relative to the other sources (default: "
        "as their sizes); repeat for each");
    command.add_option_function<std::vector<std::string>>(
        "--licence",
        [options](const std::vector<std::string>& notes) {
            corpus::set_licences(notes, options->sources);
        },
        "NAME=NOTE: what may be done with the texts of a source; repeat for each");
}

/// Throws InputError unless the options are all for text, all for pictures or all for tensors.
void check_options(const CLI::App& command) {
    const auto given = [&](const std::string& name) { return command.count(name) > 0; };
    const bool has_images = given("--images"), has_tensors = given("--tensors");
    const bool has_sources = given("--source");
    if (!has_images && !has_tensors && !has_sources && !given("--text")) {
        throw InputError(
            "say what to build from: --text FILE, --source NAME=FILE, --images FOLDER "
            "or --tensors FILE");
    }
    if (has_sources && (given("--text") || given("--weight"))) {
        throw InputError("--source names a text with its weight: --text and --weight exclude it");
    }
    if (given("--licence") && !has_sources) {
        throw InputError("--licence is for a source: --source NAME=FILE");
    }
    if (has_images && has_tensors) throw InputError("--images and --tensors exclude each other");
    if (!has_images && given("--shard-bytes")) {
        throw InputError("--shard-bytes is for a corpus of pictures; text has --shard-tokens");
    }
    for (const char* name : {"--text", "--source", "--weight", "--documents", "--language",
                             "--tokenizer", "--lower-case", "--keep-accents", "--max-unknown",
                             "--vocabulary", "--shard-tokens", "--threads"}) {
        if (!(has_images || has_tensors) || !given(name)) continue;
        throw InputError(fmt::format("{}, and {} is for text",
                                     has_images ? "--images makes a corpus of pictures"
                                                : "--tensors makes a corpus of tensors",
                                     name));
    }
}

}  // namespace

void add_corpus_commands(CLI::App& dedloc) {
    auto* const group = dedloc.add_subcommand("corpus", "Prepare text or pictures for training");
    group->require_subcommand(1);
    add_corpus_show(*group);
    add_tokenizer_commands(*group);
    auto* const command = group->add_subcommand(
        "build", "Train a tokenizer and write shards of text, or write shards of pictures");
    const auto options = std::make_shared<corpus::BuildOptions>();  // owned by the callback
    options->threads = std::max(1u, std::thread::hardware_concurrency());
    command->add_option("--text", options->texts, "UTF-8 text; repeat to read several one by one");
    add_source_options(*command, options);
    const auto tensors = std::make_shared<corpus::TensorOptions>();
    command->add_option(
        "--tensors", tensors->files,
        ".npy or .safetensors file whose first dimension is the sample, for a module; "
        "repeat for each tensor of a sample, in the order of forward's arguments");
    command
        ->add_option("--weight", options->weights,
                     "For each text its share of the training samples, relative to the others "
                     "(default: as their sizes)")
        ->check(CLI::PositiveNumber);
    command->add_option("--out", options->folder, "Folder to create")->required();
    command
        ->add_option("--held-out", options->held_out,
                     "Share of the documents or pictures that is not trained on, to measure the "
                     "model with")
        ->check(CLI::Range(0.0, 0.5))
        ->capture_default_str();
    command
        ->add_option_function<std::string>(
            "--documents",
            [options](const std::string& name) { options->form = corpus::form_named(name); },
            "What a document is: a paragraph between blank lines, a line, or the field \"text\" "
            "of a line of JSON (default: jsonl for *.jsonl, else blank-line)")
        ->check(CLI::IsMember({"blank-line", "line", "jsonl"}));
    command
        ->add_option("--language", options->language,
                     "Language of the text, to find sentence ends: en, pt-BR …; root: any")
        ->capture_default_str();
    add_tokenizer_options(*command, options);
    command
        ->add_option("--shard-tokens", options->shard_tokens,
                     "Approximate number of tokens per shard")
        ->check(CLI::Range(1'000, 100'000'000))
        ->capture_default_str();
    command
        ->add_option("--seed", options->seed,
                     "Seed of the held-out part, of the tokenizer's sample, and of the order of "
                     "pictures")
        ->capture_default_str();
    command->add_option("--threads", options->threads, "Threads that tokenise")
        ->check(CLI::Range(1u, 256u))
        ->capture_default_str();
    const auto as_json = std::make_shared<bool>(false);
    command->add_flag("--json", *as_json, "Print JSON");
    const auto pictures = add_picture_options(*command);
    command->callback([command, options, pictures, tensors, as_json] {
        check_options(*command);
        if (!tensors->files.empty()) return build_tensors(*options, *tensors, *as_json);
        if (pictures->images.empty()) return build(*options, *as_json);
        pictures->folder = options->folder;
        pictures->held_out = options->held_out;
        pictures->seed = options->seed;
        build_corpus_of_pictures(*pictures, *as_json);
    });
}

}  // namespace dedloc::cli
