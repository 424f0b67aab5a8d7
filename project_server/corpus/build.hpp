// Builds a corpus from text of any size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "project_server/corpus/corpus.hpp"
#include "project_server/corpus/documents.hpp"
#include "project_server/corpus/sources.hpp"
#include "project_server/tokenizer/model_tokenizer.hpp"

namespace dedloc::corpus {

/// Arguments of build_corpus().
struct BuildOptions {
    std::vector<std::filesystem::path> texts;  ///< UTF-8 text files, one after the other
    /// The sources of the corpus, instead of `texts` and `weights`. Empty: it has none.
    std::vector<SourceOption> sources;
    /// For each text how much of a peer's samples come from it, relative to the others'. Empty: in
    /// proportion to their sizes.
    std::vector<double> weights;
    double held_out = 0.01;            ///< share of the documents that is held out
    std::optional<DocumentForm> form;  ///< the texts' form; absent: form_of() each
    std::string language = "en";       ///< as SentenceSplitter takes it
    std::filesystem::path folder;      ///< output: must not exist yet, or be empty
    /// A model's folder, spiece.model or tokenizer.json, as read_model_tokenizer() takes it; empty:
    /// trains one.
    std::filesystem::path tokenizer;
    std::optional<tokenizer::AlbertRules> rules;  ///< for a spiece.model without its folder
    /// Largest share of tokens that may stand for text that is in no piece of the tokenizer.
    double max_unknown = 0.01;
    int vocabulary = 1000;  ///< pieces of a tokenizer that is trained
    /// A tokenizer is trained on a random sample of at most so many bytes.
    std::size_t sample_bytes = std::size_t{32} << 20;
    /// A shard ends with the document that reaches this many tokens.
    std::uint64_t shard_tokens = std::uint64_t{4} << 20;
    std::uint64_t seed = 0;  ///< chooses the sample and the documents that are held out
    unsigned threads = 1;    ///< that tokenise; the result does not depend on it
};

/// How far a build has come.
struct BuildProgress {
    /// What it does now.
    enum class Task : std::uint8_t { kReading, kTraining, kWriting, kHoldingOut };
    Task task = Task::kReading;  ///< the present one
    std::uint64_t done = 0;      ///< bytes of the texts that the task has read
    std::uint64_t total = 0;     ///< bytes of all texts
    std::uint64_t tokens = 0;    ///< written so far
    std::uint64_t unknown = 0;   ///< those among them that stand for text that is in no piece
};
/// Is called often while a build runs, on its thread.
using ProgressSink = std::function<void(const BuildProgress&)>;

/// Builds a corpus. Equal texts and options give equal bytes.
///
/// The folder appears only when it is complete. A build that is killed, or that fails with an
/// IoError (disk full), leaves what it has written under a hidden name; the same call goes on from
/// the last shard. A call with other arguments, or with a text that has changed, starts again.
///
/// Errors  InputError (text missing, empty, not UTF-8 or too small; tokenizer unusable, or too
///         much of the text in none of its pieces), after which nothing is left; IoError
/// Memory  does not grow with the texts
Corpus build_corpus(const BuildOptions& options, const ProgressSink& progress = {});

/// The share of a corpus's tokens that stand for text that is in no piece.
double unknown_share(const Corpus& corpus);

/// A sentence that warns when a tokenizer keeps capitals but has no piece with one; empty if it is
/// none of this kind. Errors: InputError, as build_corpus().
std::string warning_of_tokenizer(const BuildOptions& options);

/// A sentence that warns when a corpus looks as if its texts were wrongly divided into documents;
/// empty if it looks right.
std::string warning_of(const Corpus& corpus);

}  // namespace dedloc::corpus
