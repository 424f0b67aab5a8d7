// Whether other computers can dial this one, and at which port: asks the router, if the volunteer
// agrees, and judges what the gateway has found.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "peer/net/dht/dht_directory.hpp"
#include "peer/net/tcp/tcp_transport.hpp"

namespace dedloc::seat {

/// Follows the gateway's answers. One that contradicts the last ones is asked for again, since a
/// single dial may fail. Not copyable.
class Reachability {
  public:
    /// What follows from an answer.
    struct Verdict {
        std::uint16_t port = 0;   ///< to tell other peers; 0: they cannot dial this one
        bool asks_again = false;  ///< soon, since the answer may be wrong
        bool operator==(const Verdict&) const = default;
    };

    /// Both must outlive it. `maps_port`: the router may be asked.
    Reachability(const net::TcpTransport& transport, net::DhtDirectory& directory, bool maps_port);
    Reachability(const Reachability&) = delete;
    Reachability& operator=(const Reachability&) = delete;

    /// The port for the gateway to dial. Asks the router at the first call, after an answer that
    /// this port cannot be dialled, and after network_changed(): takes up to 5 s then, less if
    /// `is_unwanted` becomes true. Thread: the one that asks the gateway.
    std::uint16_t port_to_try(const std::function<bool()>& is_unwanted);
    /// The router's mapping may be gone. Thread: any.
    void network_changed() { is_elsewhere_ = asks_router_ = true; }

    /// The gateway's answer for the port of the last port_to_try(). Thread: main.
    Verdict judge(bool is_reachable);
    /// That port. Thread: any.
    std::uint16_t tried() const { return tried_; }

  private:
    const net::TcpTransport& transport_;
    net::DhtDirectory& directory_;
    const bool maps_port_;
    std::atomic<bool> asks_router_ = true;
    std::atomic<bool> is_elsewhere_ = false;
    std::atomic<std::uint16_t> tried_ = 0;
    std::uint16_t told_ = 0;       ///< the port of the last verdict
    unsigned contradictions_ = 0;  ///< answers in a row that this port cannot be dialled
};

}  // namespace dedloc::seat
