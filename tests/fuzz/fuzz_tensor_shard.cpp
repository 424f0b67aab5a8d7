// Shards of tensors.
#include <algorithm>
#include <span>

#include "peer/base/check.hpp"
#include "peer/formats/tensor_shard.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dedloc::fuzz {

void fuzz_tensor_shard(std::span<const std::byte> input) {
    const auto shard = formats::decode_tensor_shard(Buffer(input.begin(), input.end()));
    if (!shard) return;
    for (std::size_t i = 0; i < shard->specs.size(); ++i) {
        const auto last = shard->row(i, shard->samples - 1);
        DEDLOC_CHECK(last.data() + last.size() == shard->arrays[i].data() + shard->arrays[i].size(),
                     "the last row ends with the array");
    }
    const Buffer again = formats::encode_tensor_shard(shard->specs, shard->samples, shard->arrays);
    DEDLOC_CHECK(std::ranges::equal(again, input), "a shard is written in one way only");
}

}  // namespace dedloc::fuzz
