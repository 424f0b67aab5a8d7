// Interface for finding the other peers of a run.
#pragma once

#include <cstdint>

#include "peer/events.hpp"

namespace dedloc::net {

/// Announces this peer and finds others, between join() and leave().
class Directory {
  public:
    virtual ~Directory() = default;

    /// Starts to announce that we listen on `port` (0: announces nothing) and to search for other
    /// peers repeatedly; results are posted as event::EndpointsFound. While joined: announces the
    /// port, which may be another one, at once.
    virtual void join(std::uint16_t port) = 0;
    /// Stops announcing and searching. Others may find our last announcement for 45 minutes.
    virtual void leave() = 0;
};

}  // namespace dedloc::net
