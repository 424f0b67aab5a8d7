// The 16 bytes in front of every frame on a link.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "peer/wire/limits.hpp"

namespace dedloc::net {

/// No peer can make another one allocate more than this for one frame, whatever limit a transport
/// is given.
inline constexpr std::size_t kMaxFrameLimit = std::size_t{64} << 20;
/// A frame is sealed, and room is made for it, in pieces of this size: a forged length costs
/// address space, not memory, and what is written is still in cache when it is used. The frame of a
/// chunk (wire::kChunkElements) fits.
inline constexpr std::size_t kPieceBytes = std::size_t{264} << 10;

enum class FrameKind : std::uint32_t {
    kData = 0,     ///< a frame of the protocol, `length` bytes follow
    kPing = 1,     ///< "still here, and again in so long", length 0
    kGoodbye = 2,  ///< the last thing sent on this link, length 0
    kReceipt = 3,  ///< "so many more of your large frames are here", length 0
    kTicket = 4,   ///< "this is my ticket now", wire::kTicketBytes follow
};

/// Others are a header and nothing else.
constexpr bool has_body(FrameKind kind) {
    return kind == FrameKind::kData || kind == FrameKind::kTicket;
}

/// A frame of the protocol whose receiver says that it has it.
constexpr bool is_large(std::size_t body_bytes) {
    return body_bytes >= std::size_t{4} << 10;
}

/// Little-endian on the wire.
struct FrameHeader {
    std::uint32_t magic = 0;
    FrameKind kind = FrameKind::kData;
    std::uint32_t length = 0;
    /// Of a goodbye: a LinkRefusal; of a ping: milliseconds until the next, at most; of a receipt:
    /// how many; else 0.
    std::uint32_t detail = 0;
};
static_assert(sizeof(FrameHeader) == 16 && std::endian::native == std::endian::little);

inline constexpr std::uint32_t kFrameMagic = 0x314c4444;  // "DDL1"

/// False for anything that a link of this version does not send: it then ends.
constexpr bool is_valid(const FrameHeader& header, std::size_t frame_limit) {
    if (header.magic != kFrameMagic) return false;
    switch (header.kind) {
        case FrameKind::kData:
            return header.length <= frame_limit && header.detail == 0;
        case FrameKind::kPing:
            return header.length == 0;
        case FrameKind::kGoodbye:
            return header.length == 0 && header.detail <= 0xff;
        case FrameKind::kReceipt:
            return header.length == 0 && header.detail > 0;
        case FrameKind::kTicket:
            return header.length == wire::kTicketBytes && header.detail == 0;
    }
    return false;
}

}  // namespace dedloc::net
