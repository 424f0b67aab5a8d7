// A peer behind a router that others can dial all the same: the router is asked to let them.
#pragma once

#include <functional>

#include "peer/net/dht/dht_directory.hpp"
#include "peer/net/tcp/tcp_transport.hpp"

namespace dedloc::net {

/// Asks the router, for a few seconds; if it agrees, transport.listening_port() is its port from
/// now on, which is what others are to be told. So it comes before the ticket is asked for and the
/// Reactor is made. A line of the log says how it went. Needs the consent of whose router it is.
/// Gives up when `is_unwanted`, which is asked five times a second.
///
/// Thread   the transport's owner; blocks
void map_port(TcpTransport& transport, DhtDirectory& directory,
              const std::function<bool()>& is_unwanted);

}  // namespace dedloc::net
