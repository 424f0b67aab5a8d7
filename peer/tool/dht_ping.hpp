// Whether somebody of a DHT answers at an address.
#pragma once

#include <chrono>

#include "peer/events.hpp"

namespace dedloc::tool {

/// Sends BEP 5's ping over UDP up to three times. Requires a numeric host.
///
/// Deadline  `patience`
/// Errors    IoError: this machine has no UDP
bool answers_ping(const Endpoint& node, std::chrono::milliseconds timeout);

}  // namespace dedloc::tool
