// Counts of refused files go to the standard error with the name of the file that has their
// sentences, as a warning: the build succeeds. `corpus show` prints corpus.json as one value, for
// programs and for people, and names what it does not list: shards, and classes of text.
#include "project_server/cli/corpus_of_pictures.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <string>

#include "project_server/cli/end_at_signal.hpp"
#include "project_server/cli/output.hpp"
#include "project_server/cli/progress.hpp"

namespace dedloc::cli {
namespace {

const char* plural(std::uint64_t count) {
    return count == 1 ? "" : "s";
}

json::Value value_of(const corpus::PictureFacts& facts) {
    json::Value data;
    data.set("holds", "pictures")
        .set("pictures", facts.pictures)
        .set("held_out", facts.held_out)
        .set("labelled", facts.labelled)
        .set("classes", facts.classes.size())
        .set("bytes", facts.bytes)
        .set("smallest_side", facts.smallest_side)
        .set("duplicates", facts.duplicates);
    json::Value::List refused;
    for (const auto& refusal : facts.refused) {
        json::Value row;
        row.set("reason", refusal.reason).set("count", refusal.count);
        refused.push_back(std::move(row));
    }
    data.set("refused", std::move(refused));
    return data;
}

json::Value value_of(const corpus::Corpus& corpus) {
    if (corpus.pictures) return value_of(*corpus.pictures);
    json::Value data;
    data.set("holds", "text")
        .set("documents", corpus.documents)
        .set("held_out", corpus.held_out)
        .set("sentences", corpus.sentences)
        .set("tokens", corpus.tokens)
        .set("unknown", corpus.unknown)
        .set("vocabulary", corpus.vocabulary);
    return data;
}

void show_corpus(const std::string& folder, bool as_json) {
    const auto corpus = corpus::read_corpus(folder);
    json::Value data = value_of(corpus);
    data.set("folder", folder).set("shards", corpus.shards.size());
    print(data, as_json);
}

}  // namespace

std::shared_ptr<pictures::PictureBuildOptions> add_picture_options(CLI::App& build) {
    const auto options = std::make_shared<pictures::PictureBuildOptions>();
    build.add_option("--images", options->images,
                     "Folder of JPEGs and PNGs instead of text; a sub-folder is a class");
    build
        .add_option("--shard-bytes", options->shard_bytes,
                    "Approximate number of bytes per shard of pictures")
        ->check(CLI::Range(1'000, 1'000'000'000))
        ->capture_default_str();
    return options;
}

void build_corpus_of_pictures(const pictures::PictureBuildOptions& options, bool as_json) {
    const EndAtSignal end_at_signal;
    corpus::Corpus built;
    {
        Progress shown{as_json};
        shown.say("listing the pictures");
        built = pictures::build_pictures(options, [&](const auto& progress) {
            shown.advance("reading pictures", progress.done, progress.total,
                          fmt::format("{} taken, {} refused", progress.pictures, progress.refused));
        });
    }
    const auto& facts = *built.pictures;
    if (as_json) {
        json::Value data = value_of(facts);
        data.set("folder", options.folder.string()).set("shards", built.shards.size());
        return print(data, true);
    }
    fmt::print(
        "{}: {} pictures ({} held out, {} of {} classes) of {:.1f} MB in {} shard{}, smallest side "
        "{}, {} duplicate{} left out\n",
        options.folder.string(), facts.pictures, facts.held_out, facts.labelled,
        facts.classes.size(), static_cast<double>(facts.bytes) / 1e6, built.shards.size(),
        plural(built.shards.size()), facts.smallest_side, facts.duplicates,
        plural(facts.duplicates));
    const auto refusals = pictures::refusals_of(facts);
    if (refusals.empty()) return;
    fmt::print(stderr, "dedloc: {}; {} says why\n", refusals,
               (options.folder / corpus::kRefusedName).string());
}

void add_corpus_show(CLI::App& corpus) {
    auto* const command = corpus.add_subcommand("show", "Say what a corpus holds");
    const auto folder = std::make_shared<std::string>();
    command->add_option("FOLDER", *folder, "The corpus")->required();
    const auto as_json = std::make_shared<bool>(false);
    command->add_flag("--json", *as_json, "Print JSON");
    command->callback([folder, as_json] { show_corpus(*folder, *as_json); });
}

}  // namespace dedloc::cli
