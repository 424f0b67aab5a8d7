// decode() of frames: as they come on links of each kind, and as if the sender had signed
// them.
#include <span>

#include "peer/base/check.hpp"
#include "peer/wire/message.hpp"
#include "peer/wire/message_codec.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/peer/wire/samples.hpp"

namespace dedloc::fuzz {

void fuzz_message(std::span<const std::byte> input) {
    static const KeyPair key = tests::test_key();
    for (const auto link : {wire::LinkKind::kUnproven, wire::LinkKind::kProven}) {
        (void)wire::decode(input, link).has_value();
    }
    (void)wire::body_index(input);
    auto message = wire::decode_unverified(input);
    if (!message) return;
    // What was read can be sent, and arrives as it was. Compared as bytes: a chunk may hold NaN.
    wire::Message mine = std::move(message).value();
    mine.sender = key.public_key();
    for (const auto link : {wire::LinkKind::kUnproven, wire::LinkKind::kProven}) {
        const SharedBytes frame = wire::encode(mine, key, link).whole();
        const auto arrived = wire::decode(*frame, link);
        DEDLOC_CHECK(arrived.has_value(), "what was encoded is decoded", mine.body.index());
        DEDLOC_CHECK(*wire::encode(*arrived, key, link).whole() == *frame,
                     "a message survives the wire", mine.body.index());
    }
}

}  // namespace dedloc::fuzz
