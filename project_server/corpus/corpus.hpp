// A corpus: a folder with the shards that volunteers download and a summary, corpus.json. Shards
// hold tokenised text, with the tokenizer that made them beside them, or pictures, with a file of
// labels for each beside it.
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
    bool is_whole = false;  ///< that file is the whole tokenizer: no tokenizer.model beside it
    bool operator==(const TextRules&) const = default;
};

/// How many files were refused for one reason.
struct RefusalCount {
    std::string reason;       ///< a few words
    std::uint64_t count = 0;  ///< files
    bool operator==(const RefusalCount&) const = default;
};

/// What a corpus of pictures says of itself.
struct PictureFacts {
    std::uint64_t pictures = 0;         ///< in all shards
    std::uint64_t held_out = 0;         ///< in held-out shards, among them
    std::uint64_t labelled = 0;         ///< pictures with a class
    std::uint64_t bytes = 0;            ///< bytes of all pictures
    std::uint64_t smallest_side = 0;    ///< smallest width or height in pixels; 0 without pictures
    std::uint64_t duplicates = 0;       ///< files left out because another has the same picture
    std::vector<std::string> classes;   ///< names, as the files of labels number them
    std::vector<RefusalCount> refused;  ///< files left out for other reasons, by reason
    bool operator==(const PictureFacts&) const = default;
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
    /// Absent: the corpus holds text. Present: it holds pictures, and all fields above are unused.
    std::optional<PictureFacts> pictures;
    std::vector<formats::SourceSpec> sources;     ///< the shards'; empty: one without a name
    std::vector<formats::ShardReference> shards;  ///< each name is a file in the folder
    bool operator==(const Corpus&) const = default;
};

/// Name of the file with the labels of a shard of pictures.
std::string labels_name(const formats::ShardReference& shard);
/// Name of the file that says which files were refused, and why: a line for each, with a tab.
inline constexpr const char* kRefusedName = "refused.txt";

/// Writes folder/corpus.json. Errors: IoError.
void write_corpus(const std::filesystem::path& folder, const Corpus& corpus);
/// Reads folder/corpus.json. Errors: InputError that names the field.
Corpus read_corpus(const std::filesystem::path& folder);

/// What is wrong with the tokenizer.json of a folder whose corpus.json says which one it is, in one
/// sentence; empty: nothing, or there is no corpus.json, as in the folders of older runs.
/// Errors: InputError: corpus.json cannot be used.
std::string tokenizer_fault(const std::filesystem::path& folder);

/// Whether the tokenizer.json of such a folder is the whole tokenizer, so that there is no
/// tokenizer.model. Errors: InputError: corpus.json cannot be used.
bool has_whole_tokenizer(const std::filesystem::path& folder);

/// What has been written of one text, without what is held out.
struct TextCount {
    std::uint64_t shards = 0;  ///< number of shards
    std::uint64_t starts = 0;  ///< sentences that another one of the same document follows
    bool operator==(const TextCount&) const = default;
};

/// How far a build of pictures has come: positions in the order of the files.
struct PicturePosition {
    std::uint64_t looked_at = 0;     ///< files that were read and counted
    std::uint64_t trained_from = 0;  ///< files whose pictures to train on are in no shard yet
    std::uint64_t held_from = 0;     ///< the same for pictures to hold out
    bool operator==(const PicturePosition&) const = default;
};

/// What a build has done when it writes a shard: a later build can go on from there.
struct Journal {
    Digest build;                  ///< digest of the arguments, and of the texts' sizes and times
    bool is_held_out = false;      ///< whether the held-out part is being written, the second
    std::uint64_t text = 0;        ///< index of the text that comes next
    std::uint64_t offset = 0;      ///< position in that text, in bytes
    std::uint64_t document = 0;    ///< number in that text of the document at this position
    std::vector<TextCount> texts;  ///< counts for each text that was begun
    PicturePosition pictures;      ///< used for pictures; then of the fields above only build is
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
