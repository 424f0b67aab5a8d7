// Parses and classifies endpoints as users and configuration files write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "peer/events.hpp"

namespace dedloc::net {

/// True for a literal IPv4 or IPv6 address without brackets.
bool is_numeric_host(const std::string& host);
/// True for a numeric host other than the wildcard addresses 0.0.0.0 and ::.
bool is_dialable_host(const std::string& host);
/// True for loopback, link-local and private addresses (RFC 1918, fc00::/7), which the internet
/// does not route.
bool is_private_host(const std::string& host);

/// Parses "192.0.2.1:80" or "[2001:db8::1]:80". Nothing if the host is not numeric or the port is
/// not in [0, 65535].
std::optional<Endpoint> parse_endpoint(std::string_view text);

/// Resolves "HOST:PORT" to the first numeric address of HOST, a name or an address. Blocks until
/// the resolver answers. Errors: InputError (not HOST:PORT with a port of 1 or more, unknown name).
Endpoint resolve_endpoint(const std::string& text);

}  // namespace dedloc::net
