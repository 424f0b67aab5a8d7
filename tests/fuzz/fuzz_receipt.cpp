// Receipts: as they come, and as if their writer had signed them.
#include <span>

#include "peer/base/check.hpp"
#include "peer/formats/receipt.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/peer/wire/samples.hpp"

namespace dedloc::fuzz {

void fuzz_receipt(std::span<const std::byte> input) {
    static const KeyPair key = tests::test_key();
    (void)formats::decode_receipt(input).has_value();
    auto read = formats::decode_unsigned_receipt(input);
    if (!read) return;
    formats::Receipt receipt = std::move(read).value();
    receipt.peer = key.public_key();
    const auto again = formats::decode_receipt(formats::encode_receipt(receipt, key));
    DEDLOC_CHECK(again.has_value(), "what was encoded is decoded",
                 formats::describe(again.reason()));
    DEDLOC_CHECK(*again == receipt, "a receipt survives its file");
}

}  // namespace dedloc::fuzz
