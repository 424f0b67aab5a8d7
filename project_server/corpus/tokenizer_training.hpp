// Trains a tokenizer with rules of its own from texts, and writes the files that AutoTokenizer of
// transformers and `corpus build` read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "project_server/corpus/documents.hpp"

namespace dedloc::corpus {

/// Arguments of train_tokenizer_folder().
struct TokenizerOptions {
    std::vector<std::filesystem::path> texts;  ///< UTF-8 texts
    std::optional<DocumentForm> form;          ///< their form; absent: form_of() each
    std::string language = "en";               ///< as SentenceSplitter takes it
    std::filesystem::path folder;              ///< output: must not exist yet, or be empty
    /// A tokenizer.json whose rules are taken; then the next two do not count. Empty: none.
    std::filesystem::path like;
    /// Steps of the normaliser in their order: nmt, nfc, nfd, nfkc, nfkd, lower-case,
    /// strip-accents, strip, blanks (several become one), text:FROM=TO, regex:EXPRESSION=TO.
    std::vector<std::string> normaliser{"nmt", "nfkc", "blanks", "lower-case"};
    /// Steps that divide a text: metaspace, digits, digit-runs, punctuation, whitespace,
    /// regex:EXPRESSION (matches are parts).
    std::vector<std::string> divisions{"metaspace", "digits", "punctuation"};
    std::size_t vocabulary = 32'000;                   ///< pieces, with the five special tokens
    std::size_t sample_bytes = std::size_t{32} << 20;  ///< trains on a random sample of this
    std::uint64_t seed = 0;                            ///< chooses the sample
    std::uint64_t positions = 512;                     ///< model_max_length for transformers
};

/// What came of it.
struct TrainedTokenizer {
    std::size_t pieces = 0;       ///< in the vocabulary
    std::uint64_t documents = 0;  ///< read
    std::uint64_t sentences = 0;  ///< trained on
};

/// Trains a tokenizer and writes tokenizer.json and tokenizer_config.json. Equal texts and options
/// give equal bytes.
///
/// Errors  InputError in one sentence (a text that is missing or too small; a step that there is
///         not, or that cannot be used), after which nothing is left; IoError
TrainedTokenizer train_tokenizer_folder(const TokenizerOptions& options);

}  // namespace dedloc::corpus
