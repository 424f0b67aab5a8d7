// Connections whose ends are still proving who they are, with a bound on those that came from
// outside: the oldest one makes room for a new one.
//
// There are two kinds, each with places of its own: silent ones, which have not sent a Hello yet,
// and greeted ones, which have. An honest peer sends its Hello with the connection and is greeted a
// moment later, so silent connections, however many there are and however fast they are renewed,
// never close one that is in the middle of its proofs. Among those of a kind the oldest of the
// address that holds most of them is closed. When even that one is young, connections come faster
// than honest ones could prove themselves: then they had better wait in the system's queue.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "peer/events.hpp"
#include "peer/net/tcp/address_groups.hpp"
#include "peer/net/tcp/socket_places.hpp"
#include "peer/net/tcp/tcp_handshake.hpp"
#include "peer/net/tcp/transport_options.hpp"

namespace dedloc::net {

/// Thread: the transport's.
class PendingLinks final {
  public:
    /// What has become of one.
    using OnOver = std::function<void(const Endpoint& remote, Side side, TcpHandshake& handshake)>;

    /// What is referred to must outlive the transport's thread.
    PendingLinks(const TransportOptions& options, const SocketPlaces& places,
                 const formats::Revocations& revoked, OnOver on_over);
    PendingLinks(const PendingLinks&) = delete;
    PendingLinks& operator=(const PendingLinks&) = delete;

    /// Begins a handshake; on_over is called once for it, later.
    void begin_handshake(TcpSocket socket, const Endpoint& remote, Side side,
                         const std::optional<PeerKey>& expected);
    /// What handshakes that begin from now on prove with.
    void present(const formats::SignedTicket& ticket);

    /// True if one has been closed, since the last call, that had had little time: the next
    /// connection is to be accepted after a pause.
    bool take_crowded() { return std::exchange(is_crowded_, false); }

    /// Handshakes under way that we have dialled.
    std::size_t dialled() const { return pending_links_.size() - silent_.size() - heard_.size(); }

  private:
    using Number = AddressGroups::Number;
    struct Stranger {
        Endpoint remote;
        Side side = Side::kListener;
        std::chrono::steady_clock::time_point since;
        std::shared_ptr<TcpHandshake> handshake{};
    };

    void evict(const AddressGroups& kind, const std::string& neighbourhood);
    void on_hello(Number number);
    void over(Number number);

    const std::chrono::milliseconds deadline_;
    const SocketPlaces places_;
    const formats::Revocations& revoked_;
    const OnOver on_over_;
    std::shared_ptr<const SessionOptions> session_;  ///< never changed, but replaced
    std::map<Number, Stranger> pending_links_;
    Number last_number_ = 0;
    AddressGroups silent_;  ///< from outside, without a Hello yet
    AddressGroups heard_;   ///< from outside, with one
    bool is_crowded_ = false;
};

}  // namespace dedloc::net
