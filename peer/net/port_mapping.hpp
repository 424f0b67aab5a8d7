// Asks the local router (UPnP, NAT-PMP) to forward a TCP port, so that peers can dial this one.
#pragma once

#include <functional>

#include "peer/net/dht/dht_directory.hpp"
#include "peer/net/tcp/tcp_transport.hpp"

namespace dedloc::net {

/// Asks the router for at most 5 s. If it agrees, transport.listening_port() returns the router's
/// port from then on, which is the one to tell other peers. So call this before asking for a ticket
/// and before creating the Reactor. Logs the result. Requires the consent of the router's owner.
/// Stops when `is_unwanted`, polled five times a second, returns true.
///
/// Thread   the transport's owner; blocks
void map_port(TcpTransport& transport, DhtDirectory& directory,
              const std::function<bool()>& is_unwanted);

}  // namespace dedloc::net
