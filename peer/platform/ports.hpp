// TCP ports of this machine. `host` is a numeric IPv4 or IPv6 address, without brackets, in all
// functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dedloc::platform {

/// Address that a server listens on.
struct ListenAddress {
    std::string host;        ///< name or address, without brackets; not empty
    std::uint16_t port = 0;  ///< 0: any
    /// "HOST:PORT", an IPv6 address in brackets.
    std::string text() const;
    bool operator==(const ListenAddress&) const = default;
};

/// Parses "HOST:PORT"; an IPv6 address must be in brackets. `what` is the option or field that has
/// the text. Errors: InputError.
ListenAddress parse_listen_address(std::string_view text, std::string_view what);

/// Ports from `first` to `last`.
struct PortRange {
    std::uint16_t first = 0;  ///< the lowest one
    std::uint16_t last = 0;   ///< the highest one
    /// Whether the port lies in the range.
    bool contains(std::uint16_t port) const { return port >= first && port <= last; }
};

/// The ports that the system gives to outgoing connections, and to sockets that ask for any port
/// (ip_local_port_range of Linux).
PortRange ephemeral_ports();
/// A port on `host` that is not in use now, chosen at random. It lies outside ephemeral_ports(), so
/// that a server that stops can have it again, unless that range leaves fewer than 10,000 of the
/// ports from 10,000 on. Errors: InputError if `host` is not an address of this machine.
std::uint16_t free_port(const std::string& host);
/// Checks that this process could listen on the port. Errors: InputError in one sentence if the
/// port is in use or this user may not listen on it.
void require_free_port(const std::string& host, std::uint16_t port);
/// Whether a process accepts connections on that port.
bool is_accepting(const std::string& host, std::uint16_t port);

}  // namespace dedloc::platform
