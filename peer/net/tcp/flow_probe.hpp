// What the system's TCP says about a connection.
#pragma once

#include <optional>

#include "peer/net/session/loss_watch.hpp"

namespace dedloc::net {

/// The state of this TCP connection. Nothing on loopback, and if the system does not say enough.
/// Cost: three system calls.
std::optional<FlowSample> probe_flow(int descriptor);

}  // namespace dedloc::net
