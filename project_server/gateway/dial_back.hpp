// Tests from the gateway whether a peer can be dialled from the internet.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace dedloc::gateway {

/// Connects to a numeric address and closes the connection at once; true if it was accepted. Ports
/// below 1024 are not dialled, so that a client cannot make the project probe system services.
///
/// Thread   any; blocks for `timeout` at most
bool answers(const std::string& address, std::uint16_t port, std::chrono::milliseconds timeout);

}  // namespace dedloc::gateway
