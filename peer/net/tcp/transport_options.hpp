// Options of a TcpTransport. The defaults are for the internet; tests shorten the times.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "peer/base/token_buckets.hpp"
#include "peer/events.hpp"
#include "peer/net/session/handshake.hpp"
#include "peer/net/session/link_frame.hpp"
#include "peer/net/tcp/flow_probe.hpp"
#include "peer/platform/descriptors.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::net {

/// Limits of one link. Its memory is at most queue_bytes + untaken_bytes, and 2 frames and 2 sealed
/// pieces for each flow; with several flows also 2 · flying_bytes + 1 frame.
struct LinkLimits {
    std::size_t frame_bytes = wire::kMaxFrameBytes;  ///< largest frame, sent or received
    /// Bytes that wait to be written; above this the link is cut.
    std::size_t queue_bytes = std::size_t{256} << 20;
    /// Bytes in flight beyond the sender's window, if the path holds so much (link_window.hpp).
    std::size_t path_bytes = std::size_t{8} << 20;
    /// Bytes of large frames that the flows of a link have taken and the other end has not
    /// confirmed, if there are several flows. Twice as many received ones may wait for earlier
    /// ones.
    std::size_t flying_bytes = std::size_t{8} << 20;
    /// Received bytes and frames that wait for the driver; at either number reading stops.
    std::size_t untaken_bytes = std::size_t{8} << 20;
    std::size_t untaken_frames = 64;
    /// A ping is sent after this time without a sent frame. On a link that carries only pings, the
    /// interval doubles each time up to the longest one, which must not be shorter.
    std::chrono::milliseconds ping_interval{1500};
    std::chrono::milliseconds longest_ping_interval{15'000};
    /// The peer is dead if no byte arrives for this time. If it has announced its next ping for
    /// later than ping_interval, the timeout is longer by the difference.
    std::chrono::milliseconds silence_timeout{4500};
    /// Time from close() until the link is cut, if the other end has not hung up.
    std::chrono::milliseconds farewell{2000};
};

/// Limits of incoming pending links, separately for those that have sent a Hello and those that
/// have not (pending_links.hpp). At the limit, one of the networks that hold most is evicted.
struct HandshakeLimits {
    std::chrono::milliseconds deadline{5000};  ///< for a whole handshake, incoming or dialled
    std::size_t together = 256;                ///< total of all addresses
};

/// Links of a volunteer's peer, and of a voter, which all peers of a run dial.
inline constexpr std::size_t kDefaultLinks = 1'024;
inline constexpr std::size_t kDefaultVoterLinks = 10'000;
/// Largest TransportOptions::max_links whose descriptors raise_descriptor_limit() asks for.
inline constexpr std::size_t kMaxLinks = 32'000;

/// Options of a transport; the session decides whether links are proven and encrypted.
struct TransportOptions {
    std::optional<Endpoint> listen;  ///< numeric host, port 0 for any; nothing: outbound-only
    /// Tried first if listen->port is 0; 0: none. If it is in use, any free port is taken.
    std::uint16_t preferred_port = 0;
    LinkLimits limits{};  ///< limits of each link
    /// TCP's congestion control, where the system lets this process choose it; empty, and on
    /// loopback: the system's own. BBR sends at the rate that it has measured, also where packets
    /// are lost (../README.md).
    std::string congestion = "bbr";
    /// TCP connections of a proven link that is limited by loss; 1: links are never widened. At
    /// most kMaxFlows.
    std::size_t max_flows = kMaxFlows;
    FlowProbe probe = probe_flow;  ///< measures flows; tests have their own
    /// Interval of the checks for loss and for expired tickets.
    std::chrono::milliseconds check_interval{1000};
    /// Sockets for links, dials and handshakes together; nothing: socket_budget() of
    /// descriptor_limit(). If there are few, the limits below are lower (socket_places.hpp).
    std::optional<std::size_t> sockets{};
    std::size_t max_links = kDefaultLinks;  ///< further incoming connections are closed
    std::size_t max_dials = 512;            ///< dials in progress; further ones fail
    /// Proven links that one peer has opened; at one more its oldest is cut.
    std::size_t max_links_of_one = 4;
    /// Proven links that one peer opens; further ones are refused. An honest peer dials an address
    /// at most once a second, and less often the more often it fails.
    TokenBuckets::Rate opens_of_one{.per_second = 2, .burst = 40};
    std::chrono::milliseconds dial_deadline{5000};  ///< for the TCP connection alone
    /// This peer's credentials; nothing: links prove nothing and are not encrypted.
    std::optional<SessionOptions> session{};
    HandshakeLimits handshakes{};  ///< limits of incoming handshakes
    bool logs_addresses = true;    ///< false where the log is shown to others
};

}  // namespace dedloc::net
