// Shards of pictures, and the labels of their pictures.
#include <algorithm>
#include <span>

#include "peer/base/check.hpp"
#include "peer/formats/picture_labels.hpp"
#include "peer/formats/picture_shard.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dedloc::fuzz {

void fuzz_picture_shard(std::span<const std::byte> input) {
    if (const auto labels = formats::decode_picture_labels(input)) {
        DEDLOC_CHECK(std::ranges::equal(formats::encode_picture_labels(*labels), input),
                     "labels are written in one way only");
    }
    const auto shard = formats::decode_picture_shard(Buffer(input.begin(), input.end()));
    if (!shard) return;
    formats::PictureShardBuilder builder;
    for (std::size_t i = 0; i < shard->picture_count(); ++i) builder.add(shard->picture(i));
    const auto again = std::move(builder).finish();
    DEDLOC_CHECK(std::ranges::equal(again.file, input), "a shard is written in one way only");
}

}  // namespace dedloc::fuzz
