// A shard: a part of the corpus as token ids. The project has divided it into sentences and
// documents, so that the app can draw masks and sentence pairs without text processing.
//
// File      32-byte head {magic u32, vocabulary u32, tokens u64, sentences u64, documents u64},
// then
//           sentence ends u32, document ends u32, token ids u16; all little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/result.hpp"

namespace dedloc::formats {

/// The contents of a shard.
struct Shard {
    std::uint32_t vocabulary = 0;              ///< every token id is below this
    std::vector<std::uint16_t> tokens;         ///< token ids of all sentences in order
    std::vector<std::uint32_t> sentence_ends;  ///< index into tokens, one past the last token
    std::vector<std::uint32_t> document_ends;  ///< index into sentence_ends, one past the last

    // Sizes of the lists.
    std::size_t sentence_count() const { return sentence_ends.size(); }
    std::size_t document_count() const { return document_ends.size(); }
    /// The tokens of a sentence, at least one. Requires index < sentence_count().
    std::span<const std::uint16_t> sentence(std::size_t index) const {
        const std::size_t begin = index == 0 ? 0 : sentence_ends[index - 1];
        return std::span{tokens}.subspan(begin, sentence_ends[index] - begin);
    }
    /// Index of a document's first sentence. Requires index < document_count().
    std::size_t document_begin(std::size_t index) const {
        return index == 0 ? 0 : document_ends[index - 1];
    }
    bool operator==(const Shard&) const = default;
};

/// Builds a shard sentence by sentence, for the corpus builder.
class ShardBuilder {
  public:
    /// Begins an empty shard. Requires 1 ≤ vocabulary ≤ 65,536 (DEDLOC_CHECK).
    explicit ShardBuilder(std::uint32_t vocabulary);
    /// Adds a sentence to the present document; an empty one is ignored. Requires every id <
    /// vocabulary (DEDLOC_CHECK).
    void add_sentence(std::span<const std::uint16_t> tokens);
    /// Ends the present document; ignored if it has no sentence.
    void end_document();
    /// Tokens added so far.
    std::size_t token_count() const { return shard_.tokens.size(); }
    /// Ends the last document and returns the shard.
    Shard finish() &&;

  private:
    Shard shard_;
};

/// Why a shard is refused.
enum class ShardError : std::uint8_t {
    kTooShort,       ///< the bytes end within the head or a list
    kNotAShard,      ///< wrong magic number or version
    kTrailingBytes,  ///< more bytes than the head says
    kBadCounts,      ///< the vocabulary is not 1 … 65,536 or a list is empty
    kBadSentences,   ///< sentence ends do not ascend to the number of tokens
    kBadDocuments,   ///< document ends do not ascend to the number of sentences
    kBadToken,       ///< a token id is not below the vocabulary
};
/// A clause for error messages.
const char* describe(ShardError error);

/// The shard as a file. Requires a shard that decode_shard() accepts (DEDLOC_CHECK).
Buffer encode_shard(const Shard& shard);

/// The shard in a file. Untrusted input: allocates no more than the size of the input.
Result<Shard, ShardError> decode_shard(std::span<const std::byte> bytes);

}  // namespace dedloc::formats
