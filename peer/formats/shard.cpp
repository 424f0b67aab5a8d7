// decode_shard() takes each list only if the remaining bytes suffice for it, so a false count in
// the head allocates nothing. fault_of() then checks relations: ends ascend strictly and reach the
// length of the list that they point into, and all token ids are in the vocabulary. encode_shard()
// requires the same.
#include "peer/formats/shard.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "peer/base/check.hpp"

namespace dedloc::formats {
namespace {

constexpr std::uint32_t kMagic = 0x31534C44;  // "DLS1"
constexpr std::uint32_t kMaxVocabulary = 65'536;

template <class T>
std::optional<std::vector<T>> take_list(ByteReader& in, std::uint64_t count) {
    if (count > in.remaining() / sizeof(T)) return {};
    const auto bytes = in.take(static_cast<std::size_t>(count) * sizeof(T));
    std::vector<T> list(static_cast<std::size_t>(count));
    if (!list.empty()) std::memcpy(list.data(), bytes->data(), bytes->size());
    return list;
}

/// Whether the ends ascend strictly from above 0 and the last one is `total`.
bool ascend_to(std::span<const std::uint32_t> ends, std::size_t total) {
    std::uint32_t previous = 0;
    for (const std::uint32_t end : ends) {
        if (end <= previous) return false;
        previous = end;
    }
    return !ends.empty() && previous == total;
}

std::optional<ShardError> fault_of(const Shard& shard) {
    if (shard.vocabulary == 0 || shard.vocabulary > kMaxVocabulary || shard.tokens.empty()) {
        return ShardError::kBadCounts;
    }
    if (!ascend_to(shard.sentence_ends, shard.tokens.size())) return ShardError::kBadSentences;
    if (!ascend_to(shard.document_ends, shard.sentence_count())) return ShardError::kBadDocuments;
    if (*std::max_element(shard.tokens.begin(), shard.tokens.end()) >= shard.vocabulary) {
        return ShardError::kBadToken;
    }
    return {};
}

}  // namespace

const char* describe(ShardError error) {
    switch (error) {
        case ShardError::kTooShort:
            return "it is shorter than its head says";
        case ShardError::kNotAShard:
            return "it is not a shard of this version";
        case ShardError::kTrailingBytes:
            return "it is longer than its head says";
        case ShardError::kBadCounts:
            return "its vocabulary or its counts are out of range";
        case ShardError::kBadSentences:
            return "its sentence ends do not ascend to the number of tokens";
        case ShardError::kBadDocuments:
            return "its document ends do not ascend to the number of sentences";
        case ShardError::kBadToken:
            return "a token id is not below its vocabulary";
    }
    return "unknown";
}

ShardBuilder::ShardBuilder(std::uint32_t vocabulary) {
    DEDLOC_CHECK(vocabulary >= 1 && vocabulary <= kMaxVocabulary, "token ids have 16 bits",
                 vocabulary);
    shard_.vocabulary = vocabulary;
}

void ShardBuilder::add_sentence(std::span<const std::uint16_t> tokens) {
    if (tokens.empty()) return;
    for (const std::uint16_t token : tokens) {
        DEDLOC_CHECK(token < shard_.vocabulary, "a token id is below the vocabulary", token);
    }
    shard_.tokens.insert(shard_.tokens.end(), tokens.begin(), tokens.end());
    DEDLOC_CHECK(shard_.tokens.size() <= 0xFFFFFFFFu, "a shard's positions have 32 bits");
    shard_.sentence_ends.push_back(static_cast<std::uint32_t>(shard_.tokens.size()));
}

void ShardBuilder::end_document() {
    const auto end = static_cast<std::uint32_t>(shard_.sentence_count());
    const std::uint32_t begin = shard_.document_ends.empty() ? 0 : shard_.document_ends.back();
    if (end > begin) shard_.document_ends.push_back(end);
}

Shard ShardBuilder::finish() && {
    end_document();
    return std::move(shard_);
}

Buffer encode_shard(const Shard& shard) {
    const auto fault = fault_of(shard);
    DEDLOC_CHECK(!fault, "only a sound shard is written", describe(*fault));
    ByteWriter out;
    out.write(kMagic);
    out.write(shard.vocabulary);
    out.write(std::uint64_t{shard.tokens.size()});
    out.write(std::uint64_t{shard.sentence_ends.size()});
    out.write(std::uint64_t{shard.document_ends.size()});
    out.append(std::as_bytes(std::span{shard.sentence_ends}));
    out.append(std::as_bytes(std::span{shard.document_ends}));
    out.append(std::as_bytes(std::span{shard.tokens}));
    return std::move(out).finish();
}

Result<Shard, ShardError> decode_shard(std::span<const std::byte> bytes) {
    ByteReader in{bytes};
    const auto magic = in.read<std::uint32_t>();
    const auto vocabulary = in.read<std::uint32_t>();
    const auto tokens = in.read<std::uint64_t>();
    const auto sentences = in.read<std::uint64_t>();
    const auto documents = in.read<std::uint64_t>();
    if (magic && *magic != kMagic) return Failure{ShardError::kNotAShard};
    if (!documents) return Failure{ShardError::kTooShort};
    auto sentence_ends = take_list<std::uint32_t>(in, *sentences);
    if (!sentence_ends) return Failure{ShardError::kTooShort};
    auto document_ends = take_list<std::uint32_t>(in, *documents);
    if (!document_ends) return Failure{ShardError::kTooShort};
    auto ids = take_list<std::uint16_t>(in, *tokens);
    if (!ids) return Failure{ShardError::kTooShort};
    if (in.remaining() != 0) return Failure{ShardError::kTrailingBytes};
    Shard shard{.vocabulary = *vocabulary,
                .tokens = std::move(*ids),
                .sentence_ends = std::move(*sentence_ends),
                .document_ends = std::move(*document_ends)};
    if (const auto fault = fault_of(shard)) return Failure{*fault};
    return shard;
}

}  // namespace dedloc::formats
