// What a transport may be told. The defaults are for the internet; tests shorten the times.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "peer/events.hpp"
#include "peer/net/handshake.hpp"

namespace dedloc::net {

/// Bounds of one link. Memory a peer can make us hold ≤ queue + untaken + 2 frames, and two sealed
/// pieces.
struct LinkLimits {
    std::size_t frame_bytes = std::size_t{8} << 20;  ///< largest frame, sent or received
    std::size_t queue_bytes = std::size_t{256}
                              << 20;  ///< waiting to be written; over it, the link is cut
    std::size_t untaken_bytes =
        std::size_t{8} << 20;  ///< received, waiting for the driver; over it, no more reads
    std::size_t untaken_frames = 64;
    std::chrono::milliseconds ping_interval{1000};
    std::chrono::milliseconds silence_limit{4500};  ///< not one byte for so long: the peer is dead
};

/// Bounds of incoming connections that have not proven anything yet. One more, and the oldest of
/// them is hung up on: who says nothing makes room for who does.
struct HandshakeLimits {
    std::chrono::milliseconds deadline{5000};
    std::size_t from_one_address = 16;  ///< IPv6: from one network of 2⁶⁴ addresses
    std::size_t together = 256;
};

struct TransportOptions {
    std::optional<Endpoint> listen;  ///< numeric host, port 0 for any; nothing: outbound-only
    LinkLimits limits;
    std::size_t most_links = 1024;  ///< more incoming ones are hung up on
    std::chrono::milliseconds dial_deadline{5000};
    /// What links prove; nothing: they prove nothing and are not encrypted.
    std::optional<SessionOptions> session{};
    HandshakeLimits handshakes{};
};

}  // namespace dedloc::net
