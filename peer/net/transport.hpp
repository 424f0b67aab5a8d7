// Interface for frames between processes over links. Frames of a link arrive whole and in order, or
// the link ends.
#pragma once

#include "peer/events.hpp"

namespace dedloc::net {

/// All calls come from the thread that drives the peer. Events may be posted from any thread.
class Transport {
  public:
    virtual ~Transport() = default;

    /// Dials `remote`: event::LinkOpened{dialled = true} or event::DialFailed follows within a
    /// deadline.
    virtual void dial(const Endpoint& remote) = 0;
    /// Queues the frame. event::FrameWritten follows when it is written, in the order of the calls,
    /// unless event::LinkClosed comes first. A large frame is written when the receiver has
    /// confirmed it, or when the path itself can hold it; bytes in buffers do not count. If the
    /// queue exceeds its limit the link is cut and the frame dropped; a link that does not exist
    /// drops it too. No frame is lost on a link that stays open.
    virtual void send(LinkId link, Frame frame) = 0;
    /// Ends the link after its queue has been written or a short deadline has passed.
    virtual void close(LinkId link) = 0;
    /// The driver has taken one event::FrameReceived or event::LinkClosed of this link from its
    /// queue. Call it once for each: a link with too many frames that were not taken is not read,
    /// so its sender waits.
    virtual void taken(LinkId link) = 0;
    /// The port that peers can dial; 0 if they cannot.
    virtual std::uint16_t listening_port() const = 0;
};

}  // namespace dedloc::net
