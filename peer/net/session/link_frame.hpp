// The 16-byte header in front of every frame on a link.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "peer/wire/limits.hpp"

namespace dedloc::net {

/// Upper bound of LinkLimits::frame_bytes, and so of the memory that a peer allocates for a frame.
inline constexpr std::size_t kMaxFrameLimit = std::size_t{64} << 20;
/// Frames are sealed, and receive buffers grow, in pieces of this size: a forged length costs
/// address space but no memory, and a piece is still in cache when it is processed. The frame of a
/// chunk (wire::kChunkElements) fits into one piece.
inline constexpr std::size_t kPieceBytes = std::size_t{264} << 10;

/// Most flows of one link: TCP connections that share its frames.
inline constexpr std::size_t kMaxFlows = 4;

/// The kinds of frames on a link; the number is on the wire. Flows beyond the first carry only data
/// frames and goodbyes.
enum class FrameKind : std::uint32_t {
    kData = 0,     ///< a frame of the protocol; `length` bytes follow
    kPing = 1,     ///< keep-alive that announces the next ping, length 0
    kGoodbye = 2,  ///< the last frame on this flow, length 0
    kReceipt = 3,  ///< confirms large frames that have arrived, length 0
    kTicket = 4,   ///< a new ticket of the sender; wire::kTicketBytes follow
    kWiden = 5,    ///< asks the dialler to attach more flows, length 0
};

/// True if a body follows the header.
constexpr bool has_body(FrameKind kind) {
    return kind == FrameKind::kData || kind == FrameKind::kTicket;
}

/// True for a data frame that its receiver confirms with a receipt.
constexpr bool is_large(std::size_t body_bytes) {
    return body_bytes >= std::size_t{4} << 10;
}

/// The header as it is on the wire, little-endian.
struct FrameHeader {
    std::uint32_t magic = 0;            ///< kFrameMagic
    FrameKind kind = FrameKind::kData;  ///< what the frame is
    std::uint32_t length = 0;           ///< bytes of the body
    /// Depends on the kind. Data: the number of the data frame on this link, from 0, modulo 2³²;
    /// goodbye: goodbye_detail(); ping: milliseconds until the next ping, at most; receipt: number
    /// of confirmed frames; else 0.
    std::uint32_t detail = 0;
};
static_assert(sizeof(FrameHeader) == 16 && std::endian::native == std::endian::little);

/// First field of every header.
inline constexpr std::uint32_t kFrameMagic = 0x314c4444;  // "DDL1"

/// FrameHeader::detail of a goodbye: the reason, a LinkRefusal, and the number of flows that get
/// one. The link is over when all of them have brought theirs. Requires 1 ≤ flows ≤ kMaxFlows.
constexpr std::uint32_t goodbye_detail(std::uint8_t reason, std::size_t flows) {
    return reason | static_cast<std::uint32_t>(flows - 1) << 8;
}
/// The reason in a goodbye's detail.
constexpr std::uint8_t goodbye_reason(std::uint32_t detail) {
    return static_cast<std::uint8_t>(detail & 0xff);
}
/// The number of flows in a goodbye's detail.
constexpr std::size_t goodbye_flows(std::uint32_t detail) {
    return (detail >> 8) + 1;
}

/// False for a header that no link of this version sends: the link must then end.
constexpr bool is_valid(const FrameHeader& header, std::size_t frame_limit) {
    if (header.magic != kFrameMagic) return false;
    switch (header.kind) {
        case FrameKind::kData:
            return header.length <= frame_limit;
        case FrameKind::kPing:
            return header.length == 0;
        case FrameKind::kGoodbye:
            return header.length == 0 && goodbye_flows(header.detail) <= kMaxFlows;
        case FrameKind::kReceipt:
            return header.length == 0 && header.detail > 0;
        case FrameKind::kTicket:
            return header.length == wire::kTicketBytes && header.detail == 0;
        case FrameKind::kWiden:
            return header.length == 0 && header.detail == 0;
    }
    return false;
}

}  // namespace dedloc::net
