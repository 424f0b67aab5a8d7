// One TCP connection to another peer, as frames. Everything that can be awaited is an nng operation
// whose callback runs on one of nng's threads; the link counts the operations under way and is over
// when it has been cut and the last of them has ended. Only then comes event::LinkClosed, so
// nothing of this link can follow it.
//
// On the wire: what a FrameCodec makes of frames, plain or sealed. A ping when there was nothing
// else to send for an interval, and it says when the next one comes: on a link that carries nothing
// else they get rarer, and frequent again with the first frame, at both ends. Silence for longer
// than a limit means that the peer is dead (TCP alone would not notice a silent cut for hours).
// A goodbye ends a link politely: whoever reads it
// has read all before it and hangs up. Frames are sealed and opened on nng's threads, without the
// lock, when they are written and read: what waits is shared by all links that it is for.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "peer/net/frame_codec.hpp"
#include "peer/net/link_refusal.hpp"
#include "peer/net/link_window.hpp"
#include "peer/net/nng_handles.hpp"
#include "peer/net/transport_options.hpp"
#include "peer/trainer.hpp"

namespace dedloc::net {

/// Thread: any, unless said otherwise. `send`, `close` and `taken` come from the transport's owner
/// only.
class NngLink final {
  public:
    /// What the link tells its transport, on nng's threads.
    struct Owner {
        /// Judges a ticket that the other end shows: kNone, or why the link ends.
        std::function<LinkRefusal(LinkId, std::span<const std::byte>)> on_ticket;
        /// Comes last, after LinkClosed; must not destroy this link.
        std::function<void(LinkId)> on_over;
    };

    /// What the connection was before it became a link.
    struct Connection {
        NngStream stream;
        FrameCodec codec;
        LinkWindow window;
    };

    /// `sink` is called on nng's threads and must outlive this link.
    NngLink(LinkId id, Connection connection, const LinkLimits& limits, const EventSink& sink,
            Owner owner);
    /// Requires that on_over has been called (it may still be returning).
    ~NngLink() = default;
    NngLink(const NngLink&) = delete;
    NngLink& operator=(const NngLink&) = delete;

    /// Begins to read and to ping. Once, after LinkOpened has been posted. `this` may be over when
    /// it returns.
    void start();
    /// Queues a frame, and posts event::FrameWritten when LinkWindow says so; cuts the link instead
    /// if more than limits.queue_bytes would wait. Nothing after close or cut. Requires
    /// frame size ≤ limits.frame_bytes.
    void send(Frame frame);
    /// Shows the other end an encoded ticket, after what is queued. Nothing after close or cut.
    void show(SharedBytes ticket);
    /// Says goodbye after what is queued, drops what still arrives, and ends when the peer has hung
    /// up or after limits.farewell.
    void close();
    /// Drops what is queued, tells the other end why, and ends like close.
    void refuse(LinkRefusal why);
    /// Ends the link now.
    void cut();
    /// One delivered frame has left the driver's queue: reads on if that was what reading waited
    /// for.
    void taken();

  private:
    using Clock = std::chrono::steady_clock;

    // With the lock held.
    void enqueue(FrameKind kind, Frame body, std::uint32_t detail = 0);
    void say_goodbye(LinkRefusal reason);
    void fill_encoder();
    void write(FrameEncoder::Pieces pieces);
    void read_more();
    void read_on();
    bool holds_back() const;
    void liven();
    void confirm();
    void ping();
    void tick_again();

    // On a thread of nng, without the lock.
    void written();
    bool write_on();
    void count_written();
    void tell_written();
    void received();
    void ticked();
    void deliver(const FrameHeader& header, SharedBytes body);
    void take_frame(SharedBytes frame);
    void take_receipts(std::size_t count);
    void take_goodbye(std::uint8_t reason);
    void take_ticket(const Buffer& ticket);
    void operation_ended();

    const LinkId id_;
    const LinkLimits limits_;
    const EventSink& sink_;
    const Owner owner_;

    /// Used by the one read under way (or by whoever starts the next).
    const std::unique_ptr<FrameDecoder> decoder_;
    const FrameDecoder::Deliver deliver_;
    bool is_read_to_end_ = false;  ///< by a goodbye, or by what no honest end sends
    /// Used by the one write under way (or by whoever starts the next).
    const std::unique_ptr<FrameEncoder> encoder_;

    std::mutex mutex_;                 ///< guards what follows
    std::deque<OutgoingFrame> queue_;  ///< what the encoder has no room for yet
    std::size_t queue_bytes_ = 0;      ///< with what is in the encoder
    LinkWindow window_;                ///< frames whose FrameWritten is due
    bool is_writing_ = false;
    bool is_closing_ = false;
    bool is_cut_ = false;
    std::string why_;                  ///< the link ends, if there is a reason
    bool is_held_back_ = false;        ///< reading waits for taken()
    std::deque<std::size_t> untaken_;  ///< sizes of frames delivered but not taken
    std::size_t untaken_bytes_ = 0;
    unsigned operations_ = 1;             ///< under way; start() is one
    std::chrono::milliseconds pause_;     ///< until the next ping, from when something was sent
    std::chrono::milliseconds promised_;  ///< until the other end's next ping, as it has said
    Clock::time_point sent_at_;           ///< anything, lately
    Clock::time_point lively_until_;
    Clock::time_point silent_at_ = Clock::time_point::max();  ///< the peer is dead if nothing comes
    Clock::time_point close_by_ = Clock::time_point::max();

    NngStream stream_;
    NngAio write_;  ///< after stream_: destroyed first, when none of them has anything under way
    NngAio read_;
    NngAio tick_;
};

}  // namespace dedloc::net
