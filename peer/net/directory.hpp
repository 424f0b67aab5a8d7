// The seam of discovery: who else is in this run?
#pragma once

#include <cstdint>

#include "peer/events.hpp"

namespace dedloc::net {

class Directory {
  public:
    virtual ~Directory() = default;

    /// From now on: announce that we listen on `port` (0: announce nothing), look for others again
    /// and again, and report each answer as event::EndpointsFound.
    virtual void join(std::uint16_t port) = 0;
    /// Stop announcing and looking. Others may see our old announcement for 45 minutes.
    virtual void leave() = 0;
};

}  // namespace dedloc::net
