// Everything is checked before the first file is copied. The shards come first, then the source's
// file, and last the backbone's signature: a list that names a source never lacks its files. What a
// crash leaves behind is used by the next attempt, because names contain digests. The least work of
// a sample is lowered in the database before jobs with the new shards exist, as the bound of honest
// speeds follows from it.
#include "project_server/runs/add_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/formats/added_source.hpp"
#include "peer/formats/shard.hpp"
#include "peer/formats/task.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/mapped_file.hpp"
#include "project_server/control/client.hpp"
#include "project_server/corpus/corpus.hpp"
#include "project_server/corpus/sample_cost.hpp"
#include "project_server/database/database.hpp"
#include "project_server/project/project.hpp"
#include "project_server/run_sources.hpp"
#include "project_server/runs/find_run.hpp"

namespace dedloc::runs {
namespace {

namespace fs = std::filesystem;
using control::Outcome;

/// The run's file, whose digest is its id, says whether a sample's source is drawn first.
[[noreturn]] void refuse_run(const formats::RunFile& run) {
    if (formats::shard_kind_of(run) == formats::ShardKind::kTensors) {
        throw InputError(
            fmt::format("the run {} trains on tensors, which have no sources, so none can be "
                        "added: make another run on all of them",
                        run.name));
    }
    const bool is_albert = std::holds_alternative<formats::AlbertSpec>(run.model);
    throw InputError(
        fmt::format("the run {} began without sources, so none can be added: make a corpus of "
                    "several with dedloc corpus build --source, and another run on it{}",
                    run.name, is_albert ? " with --from and an export of this one" : ""));
}

/// Text or pictures: a run on tensors has no sources.
void require_kind(const AddSourceOptions& options, const corpus::Corpus& corpus,
                  const formats::RunFile& run) {
    const bool holds_text = !corpus.pictures;
    if (holds_text == formats::holds_text(run)) return;
    throw InputError(fmt::format("{} holds {}, and the run {} trains on {}",
                                 options.corpus.string(), holds_text ? "text" : "pictures",
                                 run.name, holds_text ? "pictures" : "text"));
}

/// The same file in both folders, or in neither.
bool have_same(const fs::path& one, const fs::path& other, const char* name) {
    const bool is_there = fs::exists(one / name);
    if (is_there != fs::exists(other / name)) return false;
    return !is_there || platform::read_text(one / name) == platform::read_text(other / name);
}

void require_run_tokenizer(const AddSourceOptions& options, const corpus::Corpus& corpus,
                           const fs::path& folder, const formats::RunFile& run) {
    const bool is_same = corpus.vocabulary == formats::vocabulary_of(run) &&
                         corpus.special_tokens == run.special_tokens &&
                         have_same(options.corpus, folder, "tokenizer.model") &&
                         have_same(options.corpus, folder, "tokenizer.json");
    if (is_same) return;
    throw InputError(
        fmt::format("{} was made with another tokenizer than the run {}: build it with "
                    "--tokenizer and the tokenizer in {}",
                    options.corpus.string(), run.name, folder.string()));
}

/// The source of the corpus that the options name, with its shards.
formats::AddedSource chosen_source(const AddSourceOptions& options, const corpus::Corpus& corpus) {
    formats::AddedSource chosen{.name = options.source, .licence = options.licence, .shards = {}};
    std::uint32_t index = 0;
    if (!corpus.sources.empty()) {
        std::string names;
        for (const auto& source : corpus.sources) {
            names += (names.empty() ? "" : ", ") + source.name;
        }
        if (chosen.name.empty() && corpus.sources.size() > 1) {
            throw InputError(fmt::format("{} has several sources: name one of {} with --source",
                                         options.corpus.string(), names));
        }
        const auto found = chosen.name.empty() ? corpus.sources.begin()
                                               : std::ranges::find(corpus.sources, chosen.name,
                                                                   &formats::SourceSpec::name);
        if (found == corpus.sources.end()) {
            throw InputError(fmt::format("{} has no source {}, only {}", options.corpus.string(),
                                         chosen.name, names));
        }
        index = static_cast<std::uint32_t>(found - corpus.sources.begin());
        chosen.name = found->name;
        if (chosen.licence.empty()) chosen.licence = found->licence;
    }
    if (!formats::is_source_name(chosen.name)) {
        throw InputError("give the source a name of letters, digits, - and _ with --source");
    }
    for (formats::ShardReference shard : corpus.shards) {
        if (shard.source != index) continue;
        shard.source = 0;
        chosen.shards.push_back(std::move(shard));
    }
    return chosen;
}

/// Checks size, digest and contents of each shard.
void check_shards(const AddSourceOptions& options, const formats::AddedSource& source,
                  const formats::RunFile& run) {
    bool is_long_enough = !formats::holds_text(run);
    for (const auto& reference : source.shards) {
        const auto path = options.corpus / reference.name;
        const platform::MappedFile file{path};
        if (file.bytes().size() != reference.bytes || blake2b(file.bytes()) != reference.digest) {
            throw InputError(fmt::format("the shard {} is cut off or altered", path.string()));
        }
        if (is_long_enough || reference.is_held_out) continue;
        const auto shard = formats::decode_shard(file.bytes(), nullptr);
        if (!shard) {
            throw InputError(fmt::format("the shard {} cannot be used: {}", path.string(),
                                         formats::describe(shard.reason())));
        }
        const bool is_albert = std::holds_alternative<formats::AlbertSpec>(run.model);
        is_long_enough = is_albert ? shard.value().start_count() > 0
                                   : shard.value().tokens.size() >= run.sequence_length;
    }
    if (is_long_enough) return;
    throw InputError(
        fmt::format("no shard of source {} has a text of {} tokens, the run's "
                    "sequence length",
                    source.name, run.sequence_length));
}

/// A copy that appears only when it is complete and on the disk.
void copy_durably(const fs::path& from, const fs::path& to) {
    const fs::path copy = to.string() + ".tmp";
    std::error_code failed;
    fs::copy_file(from, copy, fs::copy_options::overwrite_existing, failed);
    if (failed) {
        throw IoError(fmt::format("cannot copy {} to {}: {}", from.string(), copy.string(),
                                  failed.message()));
    }
    platform::sync_file(copy);
    platform::move_file(copy, to);
}

void copy_shards(const AddSourceOptions& options, const formats::AddedSource& source,
                 bool has_labels, const fs::path& folder, const project::Begins& begins) {
    std::size_t copied = 0;
    for (const auto& shard : source.shards) {
        begins(fmt::format("copying shard {} of {}", ++copied, source.shards.size()));
        const fs::path to = server::shard_file(folder, shard);
        fs::create_directories(to.parent_path());  // a backup has no empty folders
        copy_durably(options.corpus / shard.name, to);
        if (!has_labels) continue;
        const std::string labels = corpus::labels_name(shard);
        copy_durably(options.corpus / labels, to.parent_path() / labels);
    }
}

/// Only ALBERT's samples differ in size.
void lower_least_flops(const AddSourceOptions& options, const formats::AddedSource& source,
                       const formats::RunFile& run) {
    if (!std::holds_alternative<formats::AlbertSpec>(run.model)) return;
    formats::RunFile alone = run;
    alone.shards = source.shards;
    alone.added_shards = 0;
    const double least = corpus::min_sample_flops(options.corpus, alone);
    project::ProjectDatabase access{project::existing_project(options.project)};
    access.database().execute(
        "update dedloc_run set least_flops_per_sample = least(least_flops_per_sample, ?) where "
        "name = ?",
        {least, run.name});
}

void ask_backbone(const fs::path& folder, const std::string& run, const Digest& source) {
    const auto answer =
        control::ask(folder, {.command = control::Command::kAddSource, .source = source});
    if (answer.outcome == Outcome::kAbsent) {
        throw IoError(fmt::format(
            "the backbone of the run {}, which signs an addition, does not work: start the project "
            "and repeat the command",
            run));
    }
    if (answer.outcome == Outcome::kUnknown) {
        throw IoError(
            fmt::format("the backbone of the run {} does not answer: repeat the command", run));
    }
    if (!answer.reply.is_done) throw InputError(answer.reply.note);
}

/// The backbone signs no source while the run lacks the files of another one.
void require_fit(const backbone::RunFiles& files, const std::vector<Digest>& known,
                 const formats::AddedSource& source) {
    for (const Digest& other : known) server::read_source(files.folder, other);
    formats::RunFile whole = files.run;
    formats::add_source(whole, source);
}

}  // namespace

NewSource add_source(const AddSourceOptions& options, const project::Begins& begins) {
    const backbone::RunFiles files = find_run(options.project, options.run);
    if (files.run.sources.empty()) refuse_run(files.run);
    if (fs::exists(options.corpus / "tensors.json")) {
        throw InputError(fmt::format("{} holds tensors, and the run {} trains on {}",
                                     options.corpus.string(), options.run,
                                     formats::holds_text(files.run) ? "text" : "pictures"));
    }
    const corpus::Corpus corpus = corpus::read_corpus(options.corpus);
    require_kind(options, corpus, files.run);
    if (!corpus.pictures) require_run_tokenizer(options, corpus, files.folder, files.run);
    const formats::AddedSource source = chosen_source(options, corpus);
    NewSource added{.name = source.name,
                    .licence = source.licence,
                    .digest = blake2b(bytes_of(formats::write_added_source(source)))};
    for (const auto& shard : source.shards) {
        ++(shard.is_held_out ? added.held_out : added.shards);
        added.bytes += shard.bytes;
    }
    const auto known = server::added_to(files.folder, files.run);
    added.is_new = std::ranges::find(known, added.digest) == known.end();
    added.is_put_back =
        !added.is_new && !fs::exists(server::source_file(files.folder, added.digest));
    if (!added.is_new && !added.is_put_back) return added;
    if (added.is_new) require_fit(files, known, source);
    begins("reading the shards");
    check_shards(options, source, files.run);
    lower_least_flops(options, source, files.run);
    copy_shards(options, source, corpus.pictures.has_value(), files.folder, begins);
    server::write_source(files.folder, source);
    if (added.is_new) ask_backbone(files.folder, options.run, added.digest);
    return added;
}

}  // namespace dedloc::runs
