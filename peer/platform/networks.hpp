// Groups addresses of clients for limits.
#pragma once

#include <string>

namespace dedloc::platform {

/// The client that an address stands for: an IPv4 address itself, also if it is mapped into IPv6,
/// or the network of 64 bits of an IPv6 address, such as 2001:db8::/64, because a host may take any
/// address in it. A text that is no numeric address stands for itself.
std::string client_network(const std::string& address);

}  // namespace dedloc::platform
