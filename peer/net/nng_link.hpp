// One TCP connection to another peer, as frames. Everything that can be awaited is an nng operation
// whose callback runs on one of nng's threads; the link counts the operations under way and is over
// when it has been cut and the last of them has ended. Only then comes event::LinkClosed, so
// nothing of this link can follow it.
//
// On the wire: a 16-byte header (see link_frame.hpp), then the bytes of the frame. A ping when
// there was nothing else to send for an interval; silence for longer than a limit means that the
// peer is dead (TCP alone would not notice a silent cut for hours). A goodbye ends a link politely:
// whoever reads it has read all before it and hangs up.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "peer/net/link_frame.hpp"
#include "peer/net/nng_handles.hpp"
#include "peer/net/transport_options.hpp"
#include "peer/trainer.hpp"

namespace dedloc::net {

/// Thread: any, unless said otherwise. `send`, `close` and `taken` come from the transport's owner
/// only.
class NngLink final {
  public:
    /// `sink` and `on_over` are called on nng's threads; on_over comes last, after LinkClosed, and
    /// must not destroy this link. Both must outlive it.
    NngLink(LinkId id, NngStream stream, const LinkLimits& limits, const EventSink& sink,
            std::function<void(LinkId)> on_over);
    /// Requires that on_over has been called (it may still be returning).
    ~NngLink() = default;
    NngLink(const NngLink&) = delete;
    NngLink& operator=(const NngLink&) = delete;

    /// Begins to read and to ping. Once, after LinkOpened has been posted. `this` may be over when
    /// it returns.
    void start();
    /// Queues a frame, and posts event::FrameWritten once the stream has taken it; cuts the link
    /// instead if more than limits.queue_bytes would wait. Nothing after close or cut. Requires
    /// frame size ≤ limits.frame_bytes.
    void send(SharedBytes frame);
    /// Says goodbye after what is queued, drops what still arrives, and ends when the peer has hung
    /// up or after about two ping intervals.
    void close();
    /// Ends the link now.
    void cut();
    /// One delivered frame has left the driver's queue: reads on if that was what reading waited
    /// for.
    void taken();

  private:
    struct Outgoing {
        FrameHeader header;
        SharedBytes body;  ///< null for pings and goodbyes
        std::size_t size() const { return sizeof(FrameHeader) + (body ? body->size() : 0); }
    };

    // With the lock held.
    void enqueue(FrameKind kind, SharedBytes body);
    void write_more();
    void read_more();
    void read_on();
    bool holds_back() const;

    // On a thread of nng, without the lock.
    void written();
    std::size_t take_written();
    void received();
    void ticked();
    bool consume(std::size_t count);
    bool begin_frame();
    void deliver();
    void operation_ended();

    const LinkId id_;
    const LinkLimits limits_;
    const EventSink& sink_;
    const std::function<void(LinkId)> on_over_;

    // Used by the one read under way (or by whoever starts the next).
    FrameHeader header_{};
    std::size_t header_got_ = 0;
    std::shared_ptr<Buffer> body_;
    std::size_t body_got_ = 0;
    std::size_t body_length_ = 0;

    std::mutex mutex_;  ///< guards what follows
    std::deque<Outgoing> queue_;
    std::size_t queue_bytes_ = 0;
    std::size_t front_written_ = 0;  ///< bytes of queue_.front() that are already on their way
    bool is_writing_ = false;
    bool is_closing_ = false;
    unsigned ticks_since_close_ = 0;
    bool is_cut_ = false;
    bool is_held_back_ = false;        ///< reading waits for taken()
    std::deque<std::size_t> untaken_;  ///< sizes of frames delivered but not taken
    std::size_t untaken_bytes_ = 0;
    unsigned operations_ = 1;  ///< under way; start() is one

    NngStream stream_;
    NngAio write_;  ///< after stream_: destroyed first, when none of them has anything under way
    NngAio read_;
    NngAio tick_;
};

}  // namespace dedloc::net
