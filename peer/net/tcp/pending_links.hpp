// Pending links: connections whose other end has not proven its key yet. Incoming ones are bounded;
// at the limit, a new one evicts another.
//
// There are two kinds with separate limits: silent ones have not sent a Hello yet, heard ones have.
// An honest peer sends its Hello with the connection and becomes a heard one at once. So a flood of
// silent connections never evicts a link whose handshake is in progress. Within a kind, a random
// connection of the networks that hold most is evicted (AddressGroups::victim), so a flood from a
// few networks evicts its own connections only. Random and not the oldest, because a fast flood
// would evict every handshake that takes a long round trip.
//
// If no network holds many and the evicted connection is younger than a second, connections arrive
// from everywhere faster than honest peers can prove their keys: accepting then pauses, and new
// connections wait in the system's queue.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "peer/events.hpp"
#include "peer/net/tcp/address_groups.hpp"
#include "peer/net/tcp/socket_places.hpp"
#include "peer/net/tcp/tcp_handshake.hpp"
#include "peer/net/tcp/transport_options.hpp"

namespace dedloc::net {

/// Owns the handshakes in progress. Thread: the transport's.
class PendingLinks final {
  public:
    /// A handshake is over; `handshake` has the result.
    using OnOver = std::function<void(const Endpoint& remote, Side side, TcpHandshake& handshake)>;

    /// Requires options.session. `admit` judges incoming links. `revoked` must outlive the
    /// transport's thread.
    PendingLinks(const TransportOptions& options, const SocketPlaces& places,
                 const formats::Revocations& revoked, Admit admit,
                 FlowHandshake::FindLink find_link, OnOver on_over);
    PendingLinks(const PendingLinks&) = delete;
    PendingLinks& operator=(const PendingLinks&) = delete;

    /// Begins the handshake of a link; on_over is called once for it, later. An incoming connection
    /// may be a flow of a link as well.
    void begin_handshake(TcpSocket socket, const Endpoint& remote, Side side,
                         const std::optional<PeerKey>& expected);
    /// Begins the handshake of one more flow of this link, as its dialler; on_over is called once
    /// for it, later.
    void begin_flow(TcpSocket socket, const Endpoint& remote, const FlowSecret& link);
    /// Sets the ticket that later handshakes prove.
    void present(const formats::SignedTicket& ticket);

    /// True if connections arrive too fast from too many networks, as far as the evictions since
    /// the last call show: accept the next connection after a pause.
    bool take_crowded() { return std::exchange(is_crowded_, false); }

    /// Number of handshakes in progress on connections that we have dialled.
    std::size_t dialled() const { return pending_links_.size() - silent_.size() - heard_.size(); }

  private:
    using Number = AddressGroups::Number;
    struct Stranger {
        Endpoint remote;
        Side side = Side::kListener;
        std::chrono::steady_clock::time_point since;
        std::shared_ptr<TcpHandshake> handshake{};
    };

    void begin(TcpSocket socket, const Endpoint& remote, const TcpHandshake::Terms& terms);
    void make_place(const AddressGroups& kind);
    void on_hello(Number number);
    void over(Number number);

    const std::chrono::milliseconds deadline_;
    const SocketPlaces places_;
    const formats::Revocations& revoked_;
    const Admit admit_;
    const FlowHandshake::FindLink find_link_;
    const OnOver on_over_;
    std::shared_ptr<const SessionOptions> session_;  ///< replaced as a whole, never modified
    std::map<Number, Stranger> pending_links_;
    Number last_number_ = 0;
    AddressGroups silent_;                 ///< incoming ones that have not sent a Hello
    AddressGroups heard_;                  ///< incoming ones that have sent a Hello
    Random random_{unpredictable_seed()};  ///< which connections are evicted
    bool is_crowded_ = false;
};

}  // namespace dedloc::net
