// Shards of a corpus.
#include <algorithm>
#include <span>

#include "peer/base/check.hpp"
#include "peer/formats/shard.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dedloc::fuzz {

void run(std::span<const std::byte> input) {
    const auto shard = formats::decode_shard(input);
    if (!shard) return;
    std::size_t tokens = 0;
    for (std::size_t i = 0; i < shard->sentence_count(); ++i) tokens += shard->sentence(i).size();
    DEDLOC_CHECK(tokens == shard->tokens.size(), "every token is in one sentence");
    const Buffer again = formats::encode_shard(*shard);
    DEDLOC_CHECK(std::ranges::equal(again, input), "a shard is written in one way only");
}

}  // namespace dedloc::fuzz
