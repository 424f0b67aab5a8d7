// TCP ports of this machine.
#pragma once

#include <cstdint>
#include <string>

namespace dedloc::platform {

/// A port on `host` that nobody listens on now. Errors: InputError when `host` is no address of
/// this machine.
std::uint16_t free_port(const std::string& host);
/// Errors: InputError in one sentence when somebody listens on the port, or this user may not.
void require_free_port(const std::string& host, std::uint16_t port);
/// Whether somebody accepts connections there.
bool is_accepting(const std::string& host, std::uint16_t port);

}  // namespace dedloc::platform
