// The seam of messages: frames between processes over links. A frame arrives whole or not at all,
// and in order.
#pragma once

#include "peer/events.hpp"

namespace dedloc::net {

/// All calls come from one thread, the one that drives the peer. Events may come from any.
class Transport {
  public:
    virtual ~Transport() = default;

    /// Ends in event::LinkOpened{dialled = true} or event::DialFailed, within a deadline.
    virtual void dial(const Endpoint& remote) = 0;
    /// Queues the frame: event::FrameWritten when it has left this machine, in the order of the
    /// calls, unless event::LinkClosed comes first. A large one has when all but what the path
    /// holds has arrived: buffers on the way do not count. A link whose queue is over its limit, or
    /// that is gone, drops the frame and is closed: event::LinkClosed says so; nothing is ever lost
    /// in the middle of a living link.
    virtual void send(LinkId link, Frame frame) = 0;
    /// Ends the link after what is queued has been written or a short deadline has passed.
    virtual void close(LinkId link) = 0;
    /// The driver has taken one event::FrameReceived or event::LinkClosed of this link from its
    /// queue. To be called once for each: a link with too many frames not yet taken is not read
    /// further, so its sender waits.
    virtual void taken(LinkId link) = 0;
    /// The port that peers can dial; 0 when this transport does not listen.
    virtual std::uint16_t listening_port() const = 0;
};

}  // namespace dedloc::net
