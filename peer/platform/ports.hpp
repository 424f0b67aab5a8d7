// TCP ports of this machine. `host` is a numeric IPv4 address in all functions.
#pragma once

#include <cstdint>
#include <string>

namespace dedloc::platform {

/// A port on `host` that is not in use now. Errors: InputError if `host` is not an address of this
/// machine.
std::uint16_t free_port(const std::string& host);
/// Checks that this process could listen on the port. Errors: InputError in one sentence if the
/// port is in use or this user may not listen on it.
void require_free_port(const std::string& host, std::uint16_t port);
/// Whether a process accepts connections on that port.
bool is_accepting(const std::string& host, std::uint16_t port);

}  // namespace dedloc::platform
