// Endpoints as people and configuration files write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "peer/events.hpp"

namespace dedloc::net {

/// A literal IPv4 or IPv6 address, without brackets.
bool is_numeric_host(const std::string& host);
/// Numeric, and not the address that means every interface.
bool is_dialable_host(const std::string& host);
/// 127.0.0.0/8 or ::1.
bool is_loopback_host(const std::string& host);
/// Loopback, link-local or private (RFC 1918, fc00::/7): an address of this machine or house, not
/// of the internet.
bool is_private_host(const std::string& host);

/// Splits "HOST:PORT", HOST being a name, an IPv4 address or an IPv6 one in brackets (which the
/// result lacks).
std::optional<Endpoint> split_host_and_port(std::string_view text);

/// "192.0.2.1:80" or "[2001:db8::1]:80". Nothing if the host is not numeric or the port not in [0,
/// 65535].
std::optional<Endpoint> parse_endpoint(std::string_view text);

/// The (first) numeric address behind "HOST:PORT", HOST being a name or an address. Waits for the
/// resolver. Errors: InputError (not HOST:PORT with a port of 1 or more, unknown name).
Endpoint resolve_endpoint(const std::string& text);

}  // namespace dedloc::net
