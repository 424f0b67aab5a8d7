// Observes the events and actions of all peers of a world, for measurements. It does not influence
// the world: the same seed gives the same history with and without an observer.
#pragma once

#include "peer/events.hpp"
#include "peer/simulation/network.hpp"

namespace dedloc::simulation {

/// The two functions are called directly before and after Peer::handle, so the difference of a
/// clock read in both is the peer's computing time. `now` is the world's time.
class Observer {
  public:
    virtual ~Observer() = default;
    /// The peer is about to handle this event.
    virtual void handles(TimePoint now, NodeId node, const Event& event) = 0;
    /// The peer has handled the event and answered with these actions.
    virtual void has_handled(TimePoint now, NodeId node, const Actions& actions) = 0;
};

}  // namespace dedloc::simulation
