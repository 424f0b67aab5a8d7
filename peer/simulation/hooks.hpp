// Interface by which tests act inside of a world: adversaries, kill points, faults and checkers.
#pragma once

#include <cstddef>
#include <exception>
#include <string>

#include "peer/events.hpp"
#include "peer/simulation/network.hpp"
#include "peer/simulation/virtual_trainer.hpp"

namespace dedloc::simulation {

/// The world calls these functions between a host and its peer. By default they do nothing, and a
/// world runs without any. A function may end the host's process; the world then stops what it does
/// for that host. A function may throw, which ends World::run_until().
class Hooks {
  public:
    virtual ~Hooks() = default;

    /// A host was added, and does not run yet.
    virtual void added(NodeId) {}
    /// A host starts: it has a new peer and trainer, which know nothing yet.
    virtual void starts(NodeId) {}

    /// An event is due at the peer. True: the hook delivers what it wants (World::deliver_to_peer).
    virtual bool takes_event(NodeId, const Event&) { return false; }
    /// The peer is about to handle the event.
    virtual void before_event(NodeId, const Event&) {}
    /// The peer has handled an event, and all its actions were performed.
    virtual void after_event(NodeId) {}

    /// The action at this index comes next. What it has to write is not on the disk yet.
    virtual void before_action(NodeId, const Actions&, std::size_t) {}
    /// The action is performed now.
    virtual void performs(NodeId, const Action&) {}
    /// The action at this index was performed.
    virtual void after_action(NodeId, const Actions&, std::size_t) {}

    /// The peer sends a frame. True: the hook sends what it wants (World::put_on_link).
    virtual bool takes_frame(NodeId, const action::Send&) { return false; }
    /// A frame is put on a link. Returns what is sent instead; null: nothing.
    virtual SharedBytes transmits(LinkId, SharedBytes frame) { return frame; }

    /// A trainer has frozen a contribution; the peer does not have it yet.
    virtual void frozen(NodeId, const Frozen&) {}
    /// The project has signed a generation.
    virtual void generation_signed(const SignedGeneration&) {}
    /// A line to read after a failure: what happens to a host.
    virtual void noted(NodeId, const std::string&) {}
    /// World::run_until() ends by this exception, unless the hook throws another one.
    virtual void failed(const std::exception&) {}
};

}  // namespace dedloc::simulation
