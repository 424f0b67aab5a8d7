// What a transport may be told. The defaults are for the internet; tests shorten the times.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "peer/events.hpp"
#include "peer/net/session/handshake.hpp"
#include "peer/platform/descriptors.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::net {

/// Bounds of one link. Memory a peer can make us hold ≤ queue + untaken + 2 frames, and two sealed
/// pieces.
struct LinkLimits {
    std::size_t frame_bytes = wire::kMaxFrameBytes;  ///< largest frame, sent or received
    std::size_t queue_bytes = std::size_t{256}
                              << 20;  ///< waiting to be written; over it, the link is cut
    /// On their way beyond the window of who sends, where a path holds so much (link_window.hpp).
    std::size_t path_bytes = std::size_t{8} << 20;
    std::size_t untaken_bytes =
        std::size_t{8} << 20;  ///< received, waiting for the driver; over it, no more reads
    std::size_t untaken_frames = 64;
    /// A ping when nothing has been sent for so long; on a link that carries nothing else, after
    /// twice as long each time, up to the longest, which is no less.
    std::chrono::milliseconds ping_interval{1500};
    std::chrono::milliseconds longest_ping_interval{15'000};
    /// Not one byte for so long, where every ping interval is the first: the peer is dead. So much
    /// longer as it has said that its next ping will take.
    std::chrono::milliseconds silence_timeout{4500};
    std::chrono::milliseconds farewell{2000};  ///< from close to the end, whoever has not hung up
};

/// Bounds of incoming connections that have not proven anything yet, for those that have sent a
/// Hello and again for those that have not (tcp_strangers.hpp). Over them, the oldest is closed.
struct HandshakeLimits {
    std::chrono::milliseconds deadline{5000};
    std::size_t from_one_address = 16;  ///< IPv6: from one network of 2⁶⁴ addresses
    std::size_t together = 256;
};

struct TransportOptions {
    std::optional<Endpoint> listen;  ///< numeric host, port 0 for any; nothing: outbound-only
    LinkLimits limits;
    /// Sockets for everything below together; nothing: socket_budget() of descriptor_limit(). With
    /// few, the bounds below are lower (socket_places.hpp).
    std::optional<std::size_t> sockets{};
    std::size_t max_links = 1024;  ///< more incoming ones are closed
    std::size_t max_dials = 512;   ///< at once; more fail
    /// That one peer has opened and proven; one more, and its oldest is cut.
    std::size_t max_links_of_one = 4;
    std::chrono::milliseconds dial_deadline{5000};
    /// What links prove; nothing: they prove nothing and are not encrypted.
    std::optional<SessionOptions> session{};
    HandshakeLimits handshakes{};
};

}  // namespace dedloc::net
