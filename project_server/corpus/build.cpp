// All inputs are opened once before a folder is made, so their errors leave nothing behind. The
// texts are read up to three times: for the tokenizer's sample, for the training part and for the
// held-out part. Seed, text and document number alone decide what is held out, so all readings and
// a resumed build agree. Batches are tokenised in parallel but added in the order of the text, so
// the number of threads changes no byte. corpus.json is written last, and then the folder gets its
// name.
#include "project_server/corpus/build.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <system_error>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/base/random.hpp"
#include "peer/platform/files.hpp"
#include "project_server/corpus/build_folder.hpp"
#include "project_server/corpus/encoder.hpp"
#include "project_server/corpus/sample.hpp"
#include "project_server/corpus/sentences.hpp"
#include "project_server/corpus/shard_writer.hpp"
#include "project_server/corpus/tokenizer.hpp"
#include "project_server/corpus/unknown_characters.hpp"
#include "project_server/huggingface/tokenizer_files.hpp"

namespace dedloc::corpus {
namespace {

namespace fs = std::filesystem;
using Task = BuildProgress::Task;

constexpr std::size_t kBatchBytes = std::size_t{4} << 20;     // tokenised at a time
constexpr std::uint64_t kLookEvery = std::uint64_t{1} << 20;  // bytes between progress reports
constexpr std::uint64_t kMaxSentencesOfADocument = 2'000;     // on average, or a warning is due

/// Documents that are tokenised together.
struct Batch {
    std::vector<std::string> documents;
    std::vector<Position> ends;  ///< where the text goes on after each of them
    std::size_t bytes = 0;
};

/// Returns the source index of each text.
std::vector<std::uint32_t> source_of_texts(const BuildOptions& options) {
    std::vector<std::uint32_t> sources;
    for (std::uint32_t source = 0; source < options.sources.size(); ++source) {
        sources.insert(sources.end(), options.sources[source].texts.size(), source);
    }
    return sources;
}

/// The same options with the texts of all sources.
BuildOptions with_texts_of_sources(BuildOptions options) {
    for (const SourceOption& source : options.sources) {
        options.texts.insert(options.texts.end(), source.texts.begin(), source.texts.end());
    }
    return options;
}

/// Identifies a build: whatever its result depends on.
Digest digest_of(const BuildOptions& options, const std::string& tokenizer) {
    // Version 2 counts unknown tokens.
    std::string facts = fmt::format(
        "corpus 2\n{}\n{}\n{}\n{}\n{}\n{}\n", blake2b(bytes_of(tokenizer)).hex(), options.language,
        options.vocabulary, options.sample_bytes, options.shard_tokens, options.seed);
    for (const SourceOption& source : options.sources) {
        facts += fmt::format("{} {}\n{}\n", source.name, source.texts.size(), source.licence);
    }
    for (const auto& text : options.texts) {
        std::error_code failed;
        const auto form = options.form.value_or(form_of(text));
        facts += fmt::format("{} {} {} {}\n", static_cast<int>(form), fs::file_size(text, failed),
                             fs::last_write_time(text, failed).time_since_epoch().count(),
                             fs::absolute(text).string());
    }
    return blake2b(bytes_of(facts));
}

void check(const Journal& journal) {
    std::uint64_t shards = 0;
    std::uint64_t starts = 0;
    for (const auto& text : journal.texts) {
        shards += text.shards;
        starts += text.starts;
    }
    if (shards == 0) throw InputError("the text contains no sentence to train on");
    if (starts == 0) {
        throw InputError(fmt::format(
            "none of the {} documents has two sentences, which the sentence-order task needs",
            journal.corpus.documents));
    }
}

/// The tokenizer.json of a corpus. Requires a spec.
std::string json_of(const tokenizer::ModelTokenizer& given) {
    if (given.model.empty()) return given.json;
    return huggingface::write_tokenizer(*given.spec, given.special);
}

/// Builds a corpus in a folder, from where a journal ends.
class Builder final {
  public:
    Builder(const BuildOptions& options, const ProgressSink& sink, fs::path folder);
    Corpus build(const std::optional<tokenizer::ModelTokenizer>& given, Journal journal);

  private:
    std::string train();
    Tokenizer prepare(const std::optional<tokenizer::ModelTokenizer>& given, Corpus& corpus);
    void check_unknown(const Corpus& corpus) const;
    void write_part(ShardWriter& writer, Encoder& encoder, const Tokenizer& tokenizer);
    void write_text(ShardWriter& writer, Encoder& encoder, const Tokenizer& tokenizer);
    Batch read_batch(DocumentReader& reader, const Journal& journal, std::uint64_t& number) const;
    bool is_held_out(std::uint64_t text, std::uint64_t document) const;
    DocumentReader reader_of(std::size_t text, std::uint64_t offset) const;
    void report(Task task, std::size_t text, std::uint64_t offset,
                const ShardWriter* writer = nullptr);

    const BuildOptions& options_;
    const ProgressSink& sink_;
    const fs::path folder_;
    const std::vector<std::uint32_t> source_of_;  ///< each text's; empty without sources
    std::vector<std::uint64_t> begins_;           ///< sum of the sizes of earlier texts
    std::uint64_t total_ = 0;                     ///< sum of the sizes of all texts
    UnknownCharacters unknown_;                   ///< characters in the documents of this process
};

Builder::Builder(const BuildOptions& options, const ProgressSink& sink, fs::path folder)
    : options_(options),
      sink_(sink),
      folder_(std::move(folder)),
      source_of_(source_of_texts(options)) {
    for (const auto& text : options.texts) {
        begins_.push_back(total_);
        total_ += fs::file_size(text);
    }
}

DocumentReader Builder::reader_of(std::size_t text, std::uint64_t offset) const {
    const auto& path = options_.texts[text];
    return DocumentReader{path, options_.form.value_or(form_of(path)), offset};
}

bool Builder::is_held_out(std::uint64_t text, std::uint64_t document) const {
    // The first one never is, so that a text of one document can be trained on.
    return document > 0 &&
           Random{options_.seed}.split(text).split(document).uniform() < options_.held_out;
}

void Builder::report(Task task, std::size_t text, std::uint64_t offset, const ShardWriter* writer) {
    if (!sink_) return;
    sink_({.task = task,
           .done = begins_[text] + offset,
           .total = total_,
           .tokens = writer == nullptr ? 0 : writer->token_count(),
           .unknown = writer == nullptr ? 0 : writer->unknown_count()});
}

std::string Builder::train() {
    DocumentSample sample{options_.seed, options_.sample_bytes};
    std::uint64_t offered = 0;
    for (std::size_t text = 0; text < options_.texts.size(); ++text) {
        auto reader = reader_of(text, 0);
        std::uint64_t looked = 0;
        std::string document;
        for (std::uint64_t number = 0; reader.next(document); ++number) {
            if (!is_held_out(text, number)) sample.offer(offered++, document);
            if (reader.offset() < looked) continue;
            report(Task::kReading, text, reader.offset());
            looked = reader.offset() + kLookEvery;
        }
    }
    report(Task::kTraining, options_.texts.size() - 1, total_ - begins_.back());
    SentenceSplitter splitter{options_.language};
    std::vector<std::string> sentences;
    for (const auto& document : std::move(sample).take()) {
        for (auto& sentence : splitter.split(document)) sentences.push_back(std::move(sentence));
    }
    if (sentences.empty()) throw InputError("the text contains no sentence to train on");
    return train_tokenizer(sentences, options_.vocabulary);
}

Batch Builder::read_batch(DocumentReader& reader, const Journal& journal,
                          std::uint64_t& number) const {
    Batch batch;
    std::string document;
    while (batch.bytes < kBatchBytes && reader.next(document)) {
        if (is_held_out(journal.text, number++) != journal.is_held_out) continue;
        batch.bytes += document.size();
        batch.documents.push_back(std::move(document));
        batch.ends.push_back({.offset = reader.offset(), .document = number});
    }
    return batch;
}

void Builder::write_text(ShardWriter& writer, Encoder& encoder, const Tokenizer& tokenizer) {
    const auto& journal = writer.journal();
    auto reader = reader_of(journal.text, journal.offset);
    std::uint64_t number = journal.document;
    while (true) {
        const Batch batch = read_batch(reader, journal, number);
        if (batch.documents.empty()) break;
        const auto encoded = encoder.encode(batch.documents);
        for (std::size_t i = 0; i < encoded.size(); ++i) {
            if (encoded[i].unknown > 0) unknown_.look_at(batch.documents[i], tokenizer);
            writer.add(encoded[i], batch.ends[i]);
        }
        report(journal.is_held_out ? Task::kHoldingOut : Task::kWriting, journal.text,
               reader.offset(), &writer);
    }
    const auto next = static_cast<std::size_t>(journal.text + 1);
    const bool is_last = next == options_.texts.size();
    const bool ends_source =
        !is_last && !source_of_.empty() && source_of_[next] != source_of_[next - 1];
    if (is_last || ends_source || !options_.weights.empty()) {
        writer.end_shard({.offset = reader.offset(), .document = number});
    }
}

/// Writes the shards of all texts, from where the journal ends: the part that is held out, or the
/// other part.
void Builder::write_part(ShardWriter& writer, Encoder& encoder, const Tokenizer& tokenizer) {
    write_text(writer, encoder, tokenizer);
    for (auto text = writer.journal().text + 1; text < options_.texts.size(); ++text) {
        writer.begin_text(text);
        write_text(writer, encoder, tokenizer);
    }
}

/// Writes the tokenizer's files, unless an earlier process has; the corpus says what they do.
Tokenizer Builder::prepare(const std::optional<tokenizer::ModelTokenizer>& given, Corpus& corpus) {
    const auto file = folder_ / "tokenizer.model";
    const bool is_whole = given && given->model.empty();
    if (!is_whole && !fs::exists(file)) {
        platform::replace_file(file, given ? given->model : train());
    }
    if (!given) return Tokenizer{platform::read_text(file), file.string()};
    if (given->spec) {
        const auto json = json_of(*given);
        platform::replace_file(folder_ / "tokenizer.json", json);
        corpus.rules = {
            .lower_case = huggingface::has_step<huggingface::Lowercase>(*given->spec),
            .strips_accents = huggingface::has_step<huggingface::StripAccents>(*given->spec),
            .tokenizer = blake2b(bytes_of(json)),
            .is_whole = is_whole};
    }
    return Tokenizer{*given};
}

void Builder::check_unknown(const Corpus& corpus) const {
    const double share = unknown_share(corpus);
    if (share <= options_.max_unknown) return;
    throw InputError(fmt::format(
        "{} of {} tokens ({:.1f} %) are text that is in no piece of the tokenizer{}: is it the "
        "tokenizer of this text, and are its files beside it that say what it does to capitals and "
        "accents? --max-unknown {:.2g} accepts it",
        corpus.unknown, corpus.tokens, 100 * share, unknown_.examples(),
        std::min(1.0, std::ceil(110 * share) / 100)));
}

Corpus Builder::build(const std::optional<tokenizer::ModelTokenizer>& given, Journal journal) {
    const Tokenizer tokenizer = prepare(given, journal.corpus);
    journal.corpus.vocabulary = tokenizer.vocabulary();
    journal.corpus.special_tokens = tokenizer.special_tokens();
    Encoder encoder{tokenizer, options_.language, std::max(1u, options_.threads)};
    journal.corpus.sources = specs_of(options_.sources);
    ShardWriter writer{folder_, std::move(journal), options_.shard_tokens, source_of_};
    if (!writer.journal().is_held_out) {
        write_part(writer, encoder, tokenizer);
        if (options_.held_out > 0) writer.begin_held_out();
    }
    if (writer.journal().is_held_out) write_part(writer, encoder, tokenizer);
    check(writer.journal());
    check_unknown(writer.journal().corpus);
    options_.sources.empty() ? writer.finish(options_.weights)
                             : writer.finish_sources(weights_of(options_.sources));
    write_corpus(folder_, writer.journal().corpus);
    return writer.journal().corpus;
}

/// Opens each text and reads the tokenizer, so that their errors come before a folder is made.
std::optional<tokenizer::ModelTokenizer> check_inputs(const BuildOptions& options) {
    for (const auto& text : options.texts) DocumentReader{text, form_of(text)};
    SentenceSplitter{options.language};
    if (options.tokenizer.empty()) return std::nullopt;
    auto found = tokenizer::read_model_tokenizer(options.tokenizer, options.rules);
    Tokenizer{found};
    return found;
}

/// Whatever of a tokenizer changes ids.
std::string facts_of(const std::optional<tokenizer::ModelTokenizer>& given) {
    if (!given) return {};
    return given->model + (given->spec ? json_of(*given) : "");
}

}  // namespace

Corpus build_corpus(const BuildOptions& given_options, const ProgressSink& progress) {
    if (!given_options.sources.empty()) {
        DEDLOC_CHECK(given_options.texts.empty() && given_options.weights.empty(),
                     "sources name the texts and have the weights");
        check_sources(given_options.sources);
    }
    const BuildOptions options = with_texts_of_sources(given_options);
    if (options.texts.empty()) throw InputError("there is no text to build a corpus from");
    if (!options.weights.empty() && options.weights.size() != options.texts.size()) {
        throw InputError(
            fmt::format("there are {} texts but {} weights: give each its weight, or none",
                        options.texts.size(), options.weights.size()));
    }
    const auto given = check_inputs(options);
    BuildFolder folder{options.folder};
    return folder.fill(digest_of(options, facts_of(given)),
                       [&](const fs::path& path, Journal journal) {
                           return Builder{options, progress, path}.build(given, std::move(journal));
                       });
}

double unknown_share(const Corpus& corpus) {
    return corpus.tokens == 0
               ? 0
               : static_cast<double>(corpus.unknown) / static_cast<double>(corpus.tokens);
}

std::string warning_of_tokenizer(const BuildOptions& options) {
    if (options.tokenizer.empty()) return {};
    const auto found = tokenizer::read_model_tokenizer(options.tokenizer, options.rules);
    if (!Tokenizer{found}.loses_capitals()) return {};
    return fmt::format(
        "{} has no piece with a capital letter and does not change capitals to lower case, so each "
        "is an unknown token{}",
        found.file.string(),
        found.model.empty() ? "" : ": name the model's whole folder, or say --lower-case");
}

std::string warning_of(const Corpus& corpus) {
    if (2 * corpus.single > corpus.documents) {
        return fmt::format(
            "{} of {} documents have only one sentence and teach no sentence order: is the text "
            "divided into documents as --documents says?",
            corpus.single, corpus.documents);
    }
    if (corpus.sentences > kMaxSentencesOfADocument * corpus.documents) {
        return fmt::format(
            "the documents have {} sentences on average: is the text divided into documents as "
            "--documents says?",
            corpus.sentences / corpus.documents);
    }
    return {};
}

}  // namespace dedloc::corpus
