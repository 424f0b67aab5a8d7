// A corpus: tokenised shards that volunteers download and the tokenizer that made them, in a folder
// with corpus.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "peer/formats/run_file.hpp"

namespace dedloc::cli {

struct Corpus {
    std::uint64_t vocabulary = 0;
    std::uint64_t documents = 0;
    std::uint64_t sentences = 0;
    std::uint64_t tokens = 0;
    std::vector<formats::ShardReference> shards;  ///< names are of files in the folder
    bool operator==(const Corpus&) const = default;
};

struct CorpusOptions {
    std::filesystem::path text;    ///< plain text, UTF-8 (see read_documents for its forms)
    std::filesystem::path folder;  ///< made; must not exist, or be empty
    int vocabulary = 1000;
    std::uint64_t shard_tokens = std::uint64_t{4}
                                 << 20;  ///< a shard ends with the document that reaches this
};

/// Builds a corpus; the same text and options give the same bytes. A failed build leaves no folder.
/// Errors: InputError (text missing, empty or too small), IoError.
Corpus build_corpus(const CorpusOptions& options);

/// Reads folder/corpus.json. Errors: InputError.
Corpus read_corpus(const std::filesystem::path& folder);

}  // namespace dedloc::cli
