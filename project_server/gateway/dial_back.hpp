// Whether the internet can dial a peer: the gateway tries.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace dedloc::gateway {

/// Connects to a numeric address and hangs up at once. Ports below 1024 are not dialled: nobody may
/// make the project knock at system services.
///
/// Thread   any; blocks for `patience` at most
bool answers(const std::string& address, std::uint16_t port, std::chrono::milliseconds timeout);

}  // namespace dedloc::gateway
