// What TCP's congestion control does to one direction of a link, a frame at a time.
//
// Slow start   The window begins with 10 packets, and doubles in each round trip until packets are
//              lost (RFC 6928, RFC 5681). After a pause it begins anew, as Linux does it.
// Loss         The window falls to 0.7 of itself, and then grows by 0.53 packets a round trip: as
//              CUBIC where windows are small (RFC 9438, section 4.3). On average a flow then has
//              sqrt(1.5 / loss) packets under way. What is lost is sent again a round trip later.
// Left out     A second reduction in a round trip, retransmission timeouts, packets that are lost
//              because a queue in the network overflows, and CUBIC's faster growth of windows of
//              more than a hundred packets.
#pragma once

#include <cstdint>

#include "peer/base/random.hpp"
#include "peer/base/units.hpp"

namespace dedloc::simulation {

/// How links carry frames. Without a packet size frames move as fast as the machines' bandwidths
/// and the link's window allow.
struct TcpOptions {
    std::uint64_t packet_bytes = 0;  ///< 0: no congestion control
    double loss = 0;                 ///< share of the packets that are lost, below 1
    std::uint32_t flows = 1;         ///< connections that share the frames of a link, at least 1
};

/// The congestion window of one direction of a link.
class TcpFlow {
  public:
    /// When a frame is under way, from the moment at which it may begin.
    struct Times {
        Duration sending{0};  ///< until the next frame may begin
        Duration late{0};     ///< what its last byte waits for packets that are sent again
    };

    /// Sends a frame at `now` over a path with this round-trip time. Requires a packet size
    /// (DEDLOC_CHECK).
    Times send(TimePoint now, std::uint64_t bytes, Duration round_trip, const TcpOptions& options,
               Random& random);

  private:
    double window_ = 0;     ///< bytes; 0: nothing was sent yet
    double threshold_ = 0;  ///< slow start ends at this window; 0: there is none yet
    TimePoint idle_since_;
};

}  // namespace dedloc::simulation
