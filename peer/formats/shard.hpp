// A shard: a part of the corpus as token ids. The project has divided it into sentences and
// documents, so that the app can draw masks and sentence pairs without text processing. A shard is
// used in place, in a mapped file or a buffer.
//
// File      32-byte head {magic u32, vocabulary u32, tokens u64, sentences u64, documents u64},
// then
//           sentence ends u32, document ends u32, token ids u16; all little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/result.hpp"

namespace dedloc::formats {

/// The contents of a shard. The lists are parts of `file`. A copy costs nothing, and `owner` is
/// shared, because trainer and tests pass shards around by value while the bytes stay where they
/// are.
struct Shard {
    std::uint32_t vocabulary = 0;                  ///< every token id is below this
    std::span<const std::uint16_t> tokens;         ///< token ids of all sentences in order
    std::span<const std::uint32_t> sentence_ends;  ///< index into tokens, one past the last token
    std::span<const std::uint32_t> document_ends;  ///< index into sentence_ends, one past the last
    std::span<const std::byte> file;               ///< the whole file
    std::shared_ptr<const void> owner;             ///< keeps `file` alive
    /// How many times as often as a start of a shard with weight 1 one of its starts is drawn.
    std::uint64_t weight = 1;
    std::uint32_t source = 0;  ///< ShardReference::source

    // Sizes of the lists.
    std::size_t sentence_count() const { return sentence_ends.size(); }
    std::size_t document_count() const { return document_ends.size(); }
    /// The tokens of a sentence, at least one. Requires index < sentence_count().
    std::span<const std::uint16_t> sentence(std::size_t index) const {
        const std::size_t begin = index == 0 ? 0 : sentence_ends[index - 1];
        return tokens.subspan(begin, sentence_ends[index] - begin);
    }
    /// Index of a document's first sentence. Requires index < document_count().
    std::size_t document_begin(std::size_t index) const {
        return index == 0 ? 0 : document_ends[index - 1];
    }

    /// The number of starts: sentences that another sentence of the same document follows.
    std::size_t start_count() const { return sentence_count() - document_count(); }
    /// A sentence that another one follows, and one past the last sentence of their document.
    struct Start {
        std::size_t sentence;      ///< index of the start
        std::size_t document_end;  ///< one past the last sentence of its document
    };
    /// The start with this number, in the order of the sentences. Requires number < start_count().
    /// Cost: a binary search in document_ends.
    Start start(std::size_t number) const;
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
    std::size_t token_count() const { return tokens_.size(); }
    /// Ends the last document and returns the shard. Requires a token (DEDLOC_CHECK).
    Shard finish() &&;

  private:
    std::uint32_t vocabulary_;
    std::vector<std::uint16_t> tokens_;
    std::vector<std::uint32_t> sentence_ends_;
    std::vector<std::uint32_t> document_ends_;
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

/// The shard in a file, read in place. Untrusted input: reads every byte once, allocates nothing.
/// Requires `bytes` aligned to 4 (DEDLOC_CHECK) and alive as long as `owner`.
Result<Shard, ShardError> decode_shard(std::span<const std::byte> bytes,
                                       std::shared_ptr<const void> owner);
/// The same for a buffer that the shard takes over.
Result<Shard, ShardError> decode_shard(Buffer bytes);

}  // namespace dedloc::formats
