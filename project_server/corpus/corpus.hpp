// A corpus: a folder with the tokenised shards that volunteers download, the tokenizer that made
// them, and a summary, corpus.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::corpus {

/// What a tokenizer of Hugging Face does to a text before SentencePiece's own normaliser.
struct TextRules {
    bool lower_case = false;      ///< changes capitals to lower case
    bool strips_accents = false;  ///< removes combining marks
    Digest tokenizer;             ///< digest of tokenizer.json in the same folder
    bool operator==(const TextRules&) const = default;
};

/// The contents of corpus.json.
struct Corpus {
    std::uint64_t vocabulary = 0;           ///< pieces of the tokenizer
    formats::SpecialTokens special_tokens;  ///< their ids
    std::uint64_t documents = 0;            ///< in all shards
    std::uint64_t single = 0;               ///< documents with one sentence, among them
    std::uint64_t sentences = 0;            ///< in all shards
    std::uint64_t tokens = 0;               ///< in all shards
    /// Among them those that stand for text that is in no piece, except where the text itself has
    /// the unknown token. 0 in a corpus that is older than this count.
    std::uint64_t unknown = 0;
    std::uint64_t held_out = 0;  ///< documents in held-out shards
    /// Absent: SentencePiece alone made the ids, as in all older corpora.
    std::optional<TextRules> rules;
    std::vector<formats::ShardReference> shards;  ///< each name is a file in the folder
    bool operator==(const Corpus&) const = default;
};

/// Writes folder/corpus.json. Errors: IoError.
void write_corpus(const std::filesystem::path& folder, const Corpus& corpus);
/// Reads folder/corpus.json. Errors: InputError that names the field.
Corpus read_corpus(const std::filesystem::path& folder);

/// What is wrong with the tokenizer.json of a folder whose corpus.json says which one it is, in one
/// sentence; empty: nothing, or there is no corpus.json, as in the folders of older runs.
/// Errors: InputError: corpus.json cannot be used.
std::string tokenizer_fault(const std::filesystem::path& folder);

/// What has been written of one text, without what is held out.
struct TextCount {
    std::uint64_t shards = 0;  ///< number of shards
    std::uint64_t starts = 0;  ///< sentences that another one of the same document follows
    bool operator==(const TextCount&) const = default;
};

/// What a build has done when it writes a shard: a later build can go on from there.
struct Journal {
    Digest build;                  ///< digest of the arguments, and of the texts' sizes and times
    bool is_held_out = false;      ///< whether the held-out part is being written, the second
    std::uint64_t text = 0;        ///< index of the text that comes next
    std::uint64_t offset = 0;      ///< position in that text, in bytes
    std::uint64_t document = 0;    ///< number in that text of the document at this position
    std::vector<TextCount> texts;  ///< counts for each text that was begun
    Corpus corpus;                 ///< what has been written
    bool operator==(const Journal&) const = default;
};

/// Replaces folder/journal.json. Errors: IoError.
void write_journal(const std::filesystem::path& folder, const Journal& journal);
/// Reads folder/journal.json; nothing if there is none that can be used.
std::optional<Journal> read_journal(const std::filesystem::path& folder);
/// Removes it. Errors: IoError.
void remove_journal(const std::filesystem::path& folder);

}  // namespace dedloc::corpus
