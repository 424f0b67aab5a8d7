// Asks the local router (UPnP, NAT-PMP) to forward a TCP port, so that peers can dial this one.
#pragma once

#include <cstdint>
#include <functional>

#include "peer/net/dht/dht_directory.hpp"
#include "peer/net/tcp/tcp_transport.hpp"

namespace dedloc::net {

/// Asks the router for at most 5 s. Returns the port that other peers may be able to dial: the
/// router's if it agrees, else the transport's own. So call this before asking for a ticket and
/// before creating the Reactor. A later call asks the router anew, with `is_elsewhere` that of
/// another network. Logs the result. Requires the consent of the router's owner. Stops when
/// `is_unwanted`, polled five times a second, returns true.
///
/// Thread   one at a time; blocks
std::uint16_t map_port(const TcpTransport& transport, DhtDirectory& directory, bool is_elsewhere,
                       const std::function<bool()>& is_unwanted);

}  // namespace dedloc::net
