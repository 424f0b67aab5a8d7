// decode_shard() takes each list only if the remaining bytes suffice for it, so a false count in
// the head reads nothing beyond the file. fault_of() then checks relations: ends ascend strictly
// and reach the length of the list that they point into, and all token ids are in the vocabulary.
// A built shard goes through the same checks.
//
// Starts need no table. A document of n sentences has n − 1 starts, so before document d there are
// document_begin(d) − d of them, which ascends with d: the document of a start is found by binary
// search, and the start with number k of document d is sentence k + d.
#include "peer/formats/shard.hpp"

#include <algorithm>
#include <optional>

#include "peer/base/check.hpp"

namespace dedloc::formats {
namespace {

constexpr std::uint32_t kShardMagic = 0x31534C44;  // "DLS1"
constexpr std::uint32_t kMaxVocabulary = 65'536;

template <class T>
std::optional<std::span<const T>> take_list(ByteReader& in, std::uint64_t count) {
    if (count > in.remaining() / sizeof(T)) return {};
    const auto bytes = in.take(static_cast<std::size_t>(count) * sizeof(T));
    // The head has 32 bytes and the lists of the wider type come first, so all are aligned.
    return std::span{reinterpret_cast<const T*>(bytes->data()), static_cast<std::size_t>(count)};
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

Shard::Start Shard::start(std::size_t number) const {
    // Document d ends before the start if document_ends[d] - (d + 1) starts come before it.
    const auto after = std::partition_point(
        document_ends.begin(), document_ends.end(), [&](const std::uint32_t& end) {
            const auto d = static_cast<std::size_t>(&end - document_ends.data());
            return end - (d + 1) <= number;
        });
    const auto document = static_cast<std::size_t>(after - document_ends.begin());
    return {.sentence = number + document, .document_end = document_ends[document]};
}

ShardBuilder::ShardBuilder(std::uint32_t vocabulary) : vocabulary_(vocabulary) {
    DEDLOC_CHECK(vocabulary >= 1 && vocabulary <= kMaxVocabulary, "token ids have 16 bits",
                 vocabulary);
}

void ShardBuilder::add_sentence(std::span<const std::uint16_t> tokens) {
    if (tokens.empty()) return;
    for (const std::uint16_t token : tokens) {
        DEDLOC_CHECK(token < vocabulary_, "a token id is below the vocabulary", token);
    }
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    DEDLOC_CHECK(tokens_.size() <= 0xFFFFFFFFu, "a shard's positions have 32 bits");
    sentence_ends_.push_back(static_cast<std::uint32_t>(tokens_.size()));
}

void ShardBuilder::end_document() {
    const auto end = static_cast<std::uint32_t>(sentence_ends_.size());
    const std::uint32_t begin = document_ends_.empty() ? 0 : document_ends_.back();
    if (end > begin) document_ends_.push_back(end);
}

Shard ShardBuilder::finish() && {
    end_document();
    ByteWriter out;
    out.write(kShardMagic);
    out.write(vocabulary_);
    out.write(std::uint64_t{tokens_.size()});
    out.write(std::uint64_t{sentence_ends_.size()});
    out.write(std::uint64_t{document_ends_.size()});
    out.append(std::as_bytes(std::span{sentence_ends_}));
    out.append(std::as_bytes(std::span{document_ends_}));
    out.append(std::as_bytes(std::span{tokens_}));
    auto shard = decode_shard(std::move(out).finish());
    DEDLOC_CHECK(bool{shard}, "only a sound shard is written", describe(shard.reason()));
    return std::move(shard).value();
}

Result<Shard, ShardError> decode_shard(std::span<const std::byte> bytes,
                                       std::shared_ptr<const void> owner) {
    DEDLOC_CHECK(reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(std::uint32_t) == 0,
                 "a shard is read in place");
    ByteReader in{bytes};
    const auto magic = in.read<std::uint32_t>();
    const auto vocabulary = in.read<std::uint32_t>();
    const auto tokens = in.read<std::uint64_t>();
    const auto sentences = in.read<std::uint64_t>();
    const auto documents = in.read<std::uint64_t>();
    if (magic && *magic != kShardMagic) return Failure{ShardError::kNotAShard};
    if (!documents) return Failure{ShardError::kTooShort};
    const auto sentence_ends = take_list<std::uint32_t>(in, *sentences);
    if (!sentence_ends) return Failure{ShardError::kTooShort};
    const auto document_ends = take_list<std::uint32_t>(in, *documents);
    if (!document_ends) return Failure{ShardError::kTooShort};
    const auto ids = take_list<std::uint16_t>(in, *tokens);
    if (!ids) return Failure{ShardError::kTooShort};
    if (in.remaining() != 0) return Failure{ShardError::kTrailingBytes};
    Shard shard{.vocabulary = *vocabulary,
                .tokens = *ids,
                .sentence_ends = *sentence_ends,
                .document_ends = *document_ends,
                .file = bytes,
                .owner = std::move(owner)};
    if (const auto fault = fault_of(shard)) return Failure{*fault};
    return shard;
}

Result<Shard, ShardError> decode_shard(Buffer bytes) {
    const auto owner = std::make_shared<const Buffer>(std::move(bytes));
    return decode_shard(*owner, owner);
}

}  // namespace dedloc::formats
