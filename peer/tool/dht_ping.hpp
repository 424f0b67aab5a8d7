// Checks whether a DHT node answers at an address.
#pragma once

#include <chrono>

#include "peer/events.hpp"

namespace dedloc::tool {

/// Sends BEP 5's ping over UDP up to three times; true if an answer comes. Requires a numeric host.
///
/// Deadline  `timeout` for all three
/// Errors    IoError: this machine has no UDP
bool answers_ping(const Endpoint& node, std::chrono::milliseconds timeout);

}  // namespace dedloc::tool
