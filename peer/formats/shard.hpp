// A shard: a piece of the corpus as token ids, cut into sentences and documents by the project, so
// that an app can draw masks and sentence pairs without any text processing of its own.
//
// File      32-byte head {magic, vocabulary u32, tokens u64, sentences u64, documents u64}, all
//           little-endian, then sentence ends u32, document ends u32, token ids u16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/result.hpp"

namespace dedloc::formats {

struct Shard {
    std::uint32_t vocabulary = 0;              ///< every token id is below this
    std::vector<std::uint16_t> tokens;         ///< of all sentences, one after the other
    std::vector<std::uint32_t> sentence_ends;  ///< index into tokens, one behind the last
    std::vector<std::uint32_t> document_ends;  ///< index into sentence_ends, one behind the last

    std::size_t sentence_count() const { return sentence_ends.size(); }
    std::size_t document_count() const { return document_ends.size(); }
    /// Requires index < sentence_count(). Never empty.
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

/// Builds a shard sentence by sentence; what a corpus builder uses.
class ShardBuilder {
  public:
    /// Requires 1 ≤ vocabulary ≤ 65,536 (aborts).
    explicit ShardBuilder(std::uint32_t vocabulary);
    /// Ignores an empty sentence. Requires every id < vocabulary (aborts).
    void add_sentence(std::span<const std::uint16_t> tokens);
    /// Ends the document; ignored when it has no sentence yet.
    void end_document();
    std::size_t token_count() const { return shard_.tokens.size(); }
    /// Ends the last document too.
    Shard finish() &&;

  private:
    Shard shard_;
};

enum class ShardError : std::uint8_t {
    kTooShort,       ///< ends before its head or its lists do
    kNotAShard,      ///< another magic number or version
    kTrailingBytes,  ///< longer than its head says
    kBadCounts,      ///< the vocabulary is not 1 … 65,536 or a list is empty
    kBadSentences,   ///< sentence ends do not ascend to the number of tokens
    kBadDocuments,   ///< document ends do not ascend to the number of sentences
    kBadToken,       ///< a token id is not below the vocabulary
};
const char* describe(ShardError error);

/// Requires a shard that decode_shard would accept (aborts).
Buffer encode_shard(const Shard& shard);

/// Untrusted input: nothing is allocated that the bytes do not pay for.
Result<Shard, ShardError> decode_shard(std::span<const std::byte> bytes);

}  // namespace dedloc::formats
