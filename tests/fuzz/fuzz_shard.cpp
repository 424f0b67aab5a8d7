// Shards of a corpus.
#include <algorithm>
#include <span>

#include "peer/base/check.hpp"
#include "peer/formats/shard.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dedloc::fuzz {

void fuzz_shard(std::span<const std::byte> input) {
    const auto shard = formats::decode_shard(Buffer(input.begin(), input.end()));
    if (!shard) return;
    std::size_t tokens = 0;
    for (std::size_t i = 0; i < shard->sentence_count(); ++i) tokens += shard->sentence(i).size();
    DEDLOC_CHECK(tokens == shard->tokens.size(), "every token is in one sentence");
    formats::ShardBuilder builder{shard->vocabulary};
    std::size_t start = 0;
    for (std::size_t d = 0; d < shard->document_count(); ++d) {
        const std::size_t end = shard->document_ends[d];
        for (auto s = shard->document_begin(d); s < end; ++s) {
            builder.add_sentence(shard->sentence(s));
            if (s + 1 == end) continue;
            const auto found = shard->start(start++);
            DEDLOC_CHECK(found.sentence == s && found.document_end == end, "starts are in order");
        }
        builder.end_document();
    }
    DEDLOC_CHECK(start == shard->start_count(), "every start is found");
    const auto again = std::move(builder).finish();
    DEDLOC_CHECK(std::ranges::equal(again.file, input), "a shard is written in one way only");
}

}  // namespace dedloc::fuzz
