#include "project_server/corpus/build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "peer/base/error.hpp"
#include "peer/formats/shard.hpp"
#include "peer/platform/files.hpp"
#include "project_server/corpus/build_folder.hpp"
#include "project_server/corpus/encoder.hpp"
#include "project_server/corpus/sample.hpp"
#include "project_server/corpus/sentences.hpp"
#include "project_server/corpus/tokenizer.hpp"

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
    std::vector<std::uint64_t> offsets;  ///< where the text goes on after each of them
    std::size_t bytes = 0;
};

/// Identifies a build: whatever its result depends on.
Digest digest_of(const BuildOptions& options, const std::string& tokenizer) {
    std::string facts = fmt::format(
        "corpus 1\n{}\n{}\n{}\n{}\n{}\n{}\n", blake2b(bytes_of(tokenizer)).hex(), options.language,
        options.vocabulary, options.sample_bytes, options.shard_tokens, options.seed);
    for (const auto& text : options.texts) {
        std::error_code failed;
        const auto form = options.form.value_or(form_of(text));
        facts += fmt::format("{} {} {} {}\n", static_cast<int>(form), fs::file_size(text, failed),
                             fs::last_write_time(text, failed).time_since_epoch().count(),
                             fs::absolute(text).string());
    }
    return blake2b(bytes_of(facts));
}

/// Builds a corpus in a folder, from where a journal ends.
class Builder final {
  public:
    Builder(const BuildOptions& options, const ProgressSink& sink, fs::path folder,
            Journal journal);
    Corpus build(const std::string& given_tokenizer);

  private:
    std::string train();
    void write_shards(const Tokenizer& tokenizer);
    void write_shards_of(std::size_t text, Encoder& encoder);
    Batch read_batch(DocumentReader& reader) const;
    void add(const EncodedDocument& document);
    void end_shard(std::uint64_t offset);
    DocumentReader reader_of(std::size_t text, std::uint64_t offset) const;
    void report(Task task, std::size_t text, std::uint64_t offset);

    const BuildOptions& options_;
    const ProgressSink& sink_;
    const fs::path folder_;
    std::vector<std::uint64_t> begins_;  ///< sum of the sizes of earlier texts
    std::uint64_t total_ = 0;            ///< sum of the sizes of all texts
    Journal journal_;                    ///< the documents in builder_ are not in it
    Corpus pending_;                     ///< counts of the documents in builder_
    std::optional<formats::ShardBuilder> builder_;
};

Builder::Builder(const BuildOptions& options, const ProgressSink& sink, fs::path folder,
                 Journal journal)
    : options_(options), sink_(sink), folder_(std::move(folder)), journal_(std::move(journal)) {
    for (const auto& text : options.texts) {
        begins_.push_back(total_);
        total_ += fs::file_size(text);
    }
}

DocumentReader Builder::reader_of(std::size_t text, std::uint64_t offset) const {
    const auto& path = options_.texts[text];
    return DocumentReader{path, options_.form.value_or(form_of(path)), offset};
}

void Builder::report(Task task, std::size_t text, std::uint64_t offset) {
    if (!sink_) return;
    sink_({.task = task,
           .done = begins_[text] + offset,
           .total = total_,
           .tokens = journal_.corpus.tokens + pending_.tokens});
}

std::string Builder::train() {
    DocumentSample sample{options_.seed, options_.sample_bytes};
    std::uint64_t number = 0;
    for (std::size_t text = 0; text < options_.texts.size(); ++text) {
        auto reader = reader_of(text, 0);
        std::uint64_t looked = 0;
        for (std::string document; reader.next(document); ++number) {
            sample.offer(number, document);
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
    if (sentences.empty()) throw InputError("the text contains no sentence");
    return train_tokenizer(sentences, options_.vocabulary);
}

Batch Builder::read_batch(DocumentReader& reader) const {
    Batch batch;
    std::string document;
    while (batch.bytes < kBatchBytes && reader.next(document)) {
        batch.bytes += document.size();
        batch.documents.push_back(std::move(document));
        batch.offsets.push_back(reader.offset());
    }
    return batch;
}

void Builder::add(const EncodedDocument& document) {
    if (document.empty()) return;
    for (const auto& sentence : document) {
        builder_->add_sentence(sentence);
        pending_.tokens += sentence.size();
    }
    builder_->end_document();
    ++pending_.documents;
    pending_.single += document.size() == 1 ? 1 : 0;
    pending_.sentences += document.size();
}

/// Writes the shard under a name made from its digest, because BOINC requires that a file name
/// always stands for the same bytes. Then enters it and the position that follows in the journal.
void Builder::end_shard(std::uint64_t offset) {
    auto& corpus = journal_.corpus;
    if (builder_->token_count() > 0) {
        if (corpus.shards.size() == formats::kMaxShards) {
            throw InputError(fmt::format(
                "the text needs more than {} shards: choose a larger number of tokens per shard",
                formats::kMaxShards));
        }
        const Buffer bytes = formats::encode_shard(std::move(*builder_).finish());
        const Digest digest = blake2b(bytes);
        formats::ShardReference shard{.name = fmt::format("shard-{}", digest.hex().substr(0, 16)),
                                      .digest = digest,
                                      .bytes = bytes.size()};
        if (std::ranges::find(corpus.shards, shard) != corpus.shards.end()) {
            throw InputError("two shards are equal: the text repeats itself");
        }
        platform::replace_file(folder_ / shard.name, bytes);
        corpus.shards.push_back(std::move(shard));
    }
    builder_.emplace(static_cast<std::uint32_t>(corpus.vocabulary));
    corpus.documents += pending_.documents;
    corpus.single += pending_.single;
    corpus.sentences += pending_.sentences;
    corpus.tokens += pending_.tokens;
    pending_ = {};
    journal_.offset = offset;
    write_journal(folder_, journal_);
}

void Builder::write_shards_of(std::size_t text, Encoder& encoder) {
    auto reader = reader_of(text, journal_.offset);
    for (Batch batch = read_batch(reader); !batch.documents.empty(); batch = read_batch(reader)) {
        const auto encoded = encoder.encode(batch.documents);
        for (std::size_t i = 0; i < encoded.size(); ++i) {
            add(encoded[i]);
            if (builder_->token_count() >= options_.shard_tokens) end_shard(batch.offsets[i]);
        }
        report(Task::kWriting, text, reader.offset());
    }
}

void Builder::write_shards(const Tokenizer& tokenizer) {
    journal_.corpus.vocabulary = tokenizer.vocabulary();
    journal_.corpus.special_tokens = tokenizer.special_tokens();
    builder_.emplace(static_cast<std::uint32_t>(tokenizer.vocabulary()));
    Encoder encoder{tokenizer, options_.language, std::max(1u, options_.threads)};
    for (; journal_.text < options_.texts.size(); ++journal_.text, journal_.offset = 0) {
        write_shards_of(journal_.text, encoder);
    }
    end_shard(0);
}

Corpus Builder::build(const std::string& given_tokenizer) {
    const auto file = folder_ / "tokenizer.model";
    if (!fs::exists(file)) {
        platform::replace_file(file, options_.tokenizer.empty() ? train() : given_tokenizer);
    }
    const std::string name =
        options_.tokenizer.empty() ? file.string() : options_.tokenizer.string();
    write_shards(Tokenizer{platform::read_text(file), name});
    const Corpus& corpus = journal_.corpus;
    if (corpus.tokens == 0) throw InputError("the text contains no sentence");
    if (corpus.single == corpus.documents) {
        throw InputError(fmt::format(
            "none of the {} documents has two sentences, which the sentence-order task needs",
            corpus.documents));
    }
    write_corpus(folder_, corpus);
    return corpus;
}

/// Opens each text and reads the tokenizer, so that their errors come before a folder is made.
std::string check_inputs(const BuildOptions& options) {
    for (const auto& text : options.texts) DocumentReader{text, form_of(text)};
    SentenceSplitter{options.language};
    if (options.tokenizer.empty()) return {};
    auto model = platform::read_text(options.tokenizer);
    Tokenizer{model, options.tokenizer.string()};
    return model;
}

}  // namespace

Corpus build_corpus(const BuildOptions& options, const ProgressSink& progress) {
    if (options.texts.empty()) throw InputError("there is no text to build a corpus from");
    const std::string tokenizer = check_inputs(options);
    BuildFolder folder{options.folder};
    try {
        Builder builder{options, progress, folder.path(),
                        folder.resume(digest_of(options, tokenizer))};
        const Corpus corpus = builder.build(tokenizer);
        folder.finish();
        return corpus;
    } catch (const InputError&) {
        folder.discard();
        throw;
    } catch (const IoError& error) {
        throw IoError(
            fmt::format("{}; the same command goes on from the last shard", error.what()));
    }
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
