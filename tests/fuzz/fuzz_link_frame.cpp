// The bytes of a link: headers, each followed by as many bytes as it says, as a link reads them.
#include <span>

#include "peer/base/bytes.hpp"
#include "peer/base/check.hpp"
#include "peer/net/session/link_frame.hpp"
#include "peer/wire/limits.hpp"
#include "peer/wire/message.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dedloc::fuzz {

void fuzz_link_frame(std::span<const std::byte> input) {
    constexpr std::size_t kLimit = wire::kMaxFrameBytes;
    ByteReader in(input);
    while (const auto header = in.read<net::FrameHeader>()) {
        if (!net::is_valid(*header, kLimit)) return;
        DEDLOC_CHECK(header->length <= kLimit, "a valid header keeps the limit", header->length);
        const auto frame = in.take(header->length);
        if (!frame || header->kind == net::FrameKind::kGoodbye) return;
        if (header->kind != net::FrameKind::kData) continue;
        (void)wire::decode(*frame, wire::LinkKind::kProven).has_value();
    }
}

}  // namespace dedloc::fuzz
