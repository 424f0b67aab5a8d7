// Sees what the peers of a world are told and what they answer, for measurements. It changes
// nothing: the same seed gives the same history with and without one.
#pragma once

#include "peer/events.hpp"
#include "peer/simulation/network.hpp"

namespace dedloc::simulation {

class Observer {
  public:
    virtual ~Observer() = default;
    /// Just before and just after Peer::handle, and nothing in between but that: a clock read in
    /// both has the peer's own time. `now` is the world's.
    virtual void handles(TimePoint now, NodeId node, const Event& event) = 0;
    virtual void has_handled(TimePoint now, NodeId node, const Actions& actions) = 0;
};

}  // namespace dedloc::simulation
