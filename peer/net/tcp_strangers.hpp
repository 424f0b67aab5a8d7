// Connections whose ends are still proving who they are, with a bound on those that came from
// outside: one more than may be, and the oldest is hung up on. So who connects a thousand times and
// says nothing keeps nobody out, not even its neighbours.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "peer/events.hpp"
#include "peer/net/tcp_handshake.hpp"
#include "peer/net/transport_options.hpp"

namespace dedloc::net {

/// Whoever may as well be one: an IPv4 address, an IPv6 network of 2⁶⁴ addresses.
std::string neighbourhood_of(const std::string& numeric_host);

/// Thread: the transport's.
class TcpStrangers final {
  public:
    /// What has become of one.
    using OnOver = std::function<void(const Endpoint& remote, Side side, TcpHandshake& handshake)>;

    /// What is referred to must outlive the transport's thread.
    TcpStrangers(const SessionOptions& session, const HandshakeLimits& limits,
                 const wire::Revocations& revoked, OnOver on_over);
    TcpStrangers(const TcpStrangers&) = delete;
    TcpStrangers& operator=(const TcpStrangers&) = delete;

    /// Begins a handshake; on_over is called once for it, later.
    void greet(TcpSocket socket, const Endpoint& remote, Side side,
               const std::optional<PeerKey>& expected);
    /// What handshakes that begin from now on prove with.
    void present(const wire::SignedTicket& ticket);

  private:
    struct Stranger {
        Endpoint remote;
        std::string neighbourhood;
        Side side = Side::kListener;
        std::shared_ptr<TcpHandshake> handshake{};
    };
    using Place = std::list<Stranger>::iterator;

    void make_room(const std::string& neighbourhood);
    void hang_up_on_oldest(const std::function<bool(const Stranger&)>& fits);
    void over(Place place);

    const HandshakeLimits limits_;
    const wire::Revocations& revoked_;
    const OnOver on_over_;
    std::shared_ptr<const SessionOptions> session_;  ///< never changed, but replaced
    std::list<Stranger> strangers_;                  ///< the oldest first
};

}  // namespace dedloc::net
