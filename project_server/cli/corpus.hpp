// A corpus: a folder with the tokenised shards that volunteers download, the tokenizer that made
// them, and a summary, corpus.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "peer/formats/run_file.hpp"

namespace dedloc::cli {

/// The contents of corpus.json.
struct Corpus {
    std::uint64_t vocabulary = 0;                 ///< pieces of the tokenizer
    std::uint64_t documents = 0;                  ///< in all shards
    std::uint64_t sentences = 0;                  ///< in all shards
    std::uint64_t tokens = 0;                     ///< in all shards
    std::vector<formats::ShardReference> shards;  ///< each name is a file in the folder
    bool operator==(const Corpus&) const = default;
};

/// Arguments of build_corpus().
struct CorpusOptions {
    std::filesystem::path text;    ///< plain text, UTF-8; read_documents() says in which forms
    std::filesystem::path folder;  ///< output folder: must not exist yet, or be empty
    int vocabulary = 1000;         ///< pieces of the tokenizer
    /// A shard ends with the document that reaches this many tokens.
    std::uint64_t shard_tokens = std::uint64_t{4} << 20;
};

/// Builds a corpus. Equal texts and options give equal bytes. A failed build leaves no folder.
/// Errors: InputError (text missing, empty or too small), IoError.
Corpus build_corpus(const CorpusOptions& options);

/// Reads folder/corpus.json. Errors: InputError.
Corpus read_corpus(const std::filesystem::path& folder);

}  // namespace dedloc::cli
