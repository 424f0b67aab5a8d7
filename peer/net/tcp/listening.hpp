// Opens the socket that accepts connections.
#pragma once

#include <cstdint>

#include "peer/events.hpp"
#include "peer/net/tcp/tcp_socket.hpp"

namespace dedloc::net {

/// Listens at `endpoint` and returns the port. If its port is 0, any free one will do, and
/// `preferred_port` is tried first unless it is 0. The host "::" means all addresses of both
/// families; on a machine without IPv6, all IPv4 addresses. Errors: InputError (host is not
/// numeric), IoError (port in use, no such address).
std::uint16_t listen(TcpAcceptor& acceptor, const Endpoint& endpoint, std::uint16_t preferred_port);

}  // namespace dedloc::net
