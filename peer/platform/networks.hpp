// Classifies addresses: those of this machine, and groups of clients for limits.
#pragma once

#include <array>
#include <string>

namespace dedloc::platform {

/// Whether it is a numeric address of 127.0.0.0/8 or ::1. A name is not, also if it stands for one.
bool is_loopback_host(const std::string& host);

/// The client that an address stands for: an IPv4 address itself, also if it is mapped into IPv6,
/// or the network of 64 bits of an IPv6 address, such as 2001:db8::/64, because a host may take any
/// address in it. A text that is no numeric address stands for itself.
std::string client_network(const std::string& address);

/// Keys of the networks that an address is in, from the widest to the client itself: 16, 24 and 32
/// bits of an IPv4 address, 32, 48 and 64 bits of an IPv6 address. One owner rarely has several of
/// the widest. Each key begins with the key before it, so the networks inside another follow it in
/// an ordered map. Bytes, not a text to show. A text that is no numeric address gets three keys of
/// its own.
using NetworkKeys = std::array<std::string, 3>;
/// The keys of the networks of an address, the widest first.
NetworkKeys networks_of(const std::string& address);

/// The network that limits count for a public address: 24 bits of an IPv4 address, such as
/// 203.0.113.0/24, also if it is mapped into IPv6, and 48 bits of an IPv6 address, such as
/// 2001:db8:1::/48. Empty for addresses that no client on the internet has, which test projects and
/// laboratories use: loopback, private, link-local, and 100.64.0.0/10, which carriers and virtual
/// private networks use inside (customers of a carrier arrive with its public address). Empty also
/// for a text that is no numeric address.
std::string public_network(const std::string& address);

}  // namespace dedloc::platform
