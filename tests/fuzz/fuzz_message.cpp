// decode() of frames: as they come, and as if whoever sent them had signed them.
#include <span>

#include "peer/base/check.hpp"
#include "peer/wire/message.hpp"
#include "peer/wire/message_codec.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/peer/wire_samples.hpp"

namespace dedloc::fuzz {

void run(std::span<const std::byte> input) {
    static const KeyPair key = tests::test_key();
    (void)wire::decode(input).has_value();
    auto message = wire::decode_unsigned(input);
    if (!message) return;
    // What was read can be sent, and arrives as it was. Compared as bytes: a chunk may hold NaN.
    wire::Message mine = std::move(message).value();
    mine.sender = key.public_key();
    const SharedBytes frame = wire::encode(mine, key);
    const auto arrived = wire::decode(*frame);
    DEDLOC_CHECK(arrived.has_value(), "what was encoded is decoded", mine.body.index());
    DEDLOC_CHECK(*wire::encode(*arrived, key) == *frame, "a message survives the wire",
                 mine.body.index());
}

}  // namespace dedloc::fuzz
