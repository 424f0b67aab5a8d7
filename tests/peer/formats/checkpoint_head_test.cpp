// The head of a checkpoint: what is written is read again, and nothing else.
#include "peer/formats/checkpoint_head.hpp"

#include <catch2/catch.hpp>
#include <functional>

#include "peer/base/error.hpp"

namespace dedloc::formats {
namespace {

RunId run_named(unsigned char name) {
    RunId run;
    run.bytes.fill(std::byte{name});
    return run;
}

CheckpointHead some_head() {
    return {
        .step = StepIndex{7}, .digest = blake2b(bytes_of("state")), .elements = 192, .vectors = 2};
}

TEST_CASE("a checkpoint's head is read as it was written", "[formats]") {
    const Buffer bytes = encode_checkpoint_head(run_named(1), some_head());
    CHECK(bytes.size() == kCheckpointHeadBytes);
    CHECK(decode_checkpoint_head(bytes, run_named(1), "file") == some_head());
    CHECK(some_head().state_bytes() == 2 * 192 * 4);
}

TEST_CASE("a head that is cut off, altered or another run's is refused in one sentence",
          "[formats]") {
    const Buffer whole = encode_checkpoint_head(run_named(1), some_head());
    const auto refuses = [](std::span<const std::byte> bytes, const std::string& why) {
        CHECK_THROWS_WITH(decode_checkpoint_head(bytes, run_named(1), "file"),
                          Catch::Contains(why));
    };
    for (std::size_t size = 0; size < whole.size(); ++size) {
        refuses(std::span{whole}.first(size),
                size < 8 ? "file is not a checkpoint" : "file is an incomplete checkpoint");
    }
    Buffer longer = whole;
    longer.push_back({});
    refuses(longer, "file is an incomplete checkpoint");
    for (std::size_t at = 0; at < whole.size(); ++at) {
        Buffer altered = whole;
        altered[at] ^= std::byte{1};
        refuses(altered, "file is ");
    }
    Buffer other = whole;
    other[8] = std::byte{9};
    refuses(other, "file is a checkpoint of version 9, and this program reads version 2");
    refuses(encode_checkpoint_head(run_named(2), some_head()),
            "file is a checkpoint of the run 02020202, not of 01010101");
}

}  // namespace
}  // namespace dedloc::formats
