// One TCP connection to another peer, as frames. Everything happens on the transport's thread: what
// is readable is read and what is queued is written, as long as the socket goes on and a turn's
// budget lasts; then asio is asked to say when it goes on.
//
// On the wire: what a FrameCodec makes of frames, plain or sealed. A ping when there was nothing
// else to send for an interval, and it says when the next one comes: on a link that carries nothing
// else they get rarer, and frequent again with the first frame, at both ends. Silence for longer
// than a limit means that the peer is dead (TCP alone would not notice a silent cut for hours).
// A goodbye ends a link politely: whoever reads it has read all before it and hangs up. Frames are
// sealed and opened when they are written and read: what waits is shared by all links that it is
// for.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "peer/net/session/frame_codec.hpp"
#include "peer/net/session/link_refusal.hpp"
#include "peer/net/session/link_window.hpp"
#include "peer/net/tcp/tcp_socket.hpp"
#include "peer/net/tcp/transport_options.hpp"
#include "peer/trainer.hpp"

namespace dedloc::net {

/// Thread: the transport's. Shared, since asio also calls what it was told before a cut.
class TcpLink final : public std::enable_shared_from_this<TcpLink> {
  public:
    /// What the link tells its transport.
    struct Owner {
        /// Judges a ticket that the other end shows: kNone, or why the link ends.
        std::function<LinkRefusal(LinkId, std::span<const std::byte>)> on_ticket;
        /// From now on reading waits for taken(), or it does so no more.
        std::function<void(bool)> on_held_back;
        /// The first frame has arrived.
        std::function<void(LinkId)> on_first_frame;
        /// Comes last, after LinkClosed.
        std::function<void(LinkId)> on_over;
    };

    /// What the connection was before it became a link.
    struct Connection {
        TcpSocket socket;
        FrameCodec codec;
        LinkWindow window;
    };

    /// `sink` must outlive this link. It may wait, and everything waits with it.
    TcpLink(LinkId id, Connection connection, const LinkLimits& limits, const EventSink& sink,
            Owner owner);
    TcpLink(const TcpLink&) = delete;
    TcpLink& operator=(const TcpLink&) = delete;

    /// Begins to read and to ping. Once, after LinkOpened has been posted.
    void start();
    /// Queues the frame; the link is cut if its queue is over its limit. Nothing after close or
    /// cut. Requires frame size ≤ limits.frame_bytes.
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

    void enqueue(FrameKind kind, Frame body, std::uint32_t detail = 0);
    void say_goodbye(LinkRefusal reason);
    void write_soon();
    void write();
    void write_when_possible();
    void count_written(std::size_t bytes);
    void tell_written();

    void read_more();
    void received(error_code error, std::size_t bytes);
    bool decode(std::size_t bytes);
    std::array<asio::mutable_buffer, 2> places();
    bool holds_back() const;
    void hold_back(bool now);

    void deliver(const FrameHeader& header, SharedBytes body);
    void take_frame(SharedBytes frame);
    void take_receipts(std::size_t count);
    void take_goodbye(std::uint8_t reason);
    void take_ticket(const Buffer& ticket);

    void liven();
    void confirm();
    void ping();
    void ticked();
    void tick_again();

    const LinkId id_;
    const LinkLimits limits_;
    const EventSink& sink_;
    const Owner owner_;
    const std::unique_ptr<FrameDecoder> decoder_;
    const FrameDecoder::Deliver deliver_;
    const std::unique_ptr<FrameEncoder> encoder_;
    TcpSocket socket_;
    Timer tick_;

    bool is_closing_ = false;
    bool is_over_ = false;
    std::string why_;  ///< the link ends, if there is a reason

    std::deque<OutgoingFrame> queue_;  ///< what the encoder has no room for yet
    std::size_t queue_bytes_ = 0;      ///< with what is in the encoder
    LinkWindow window_;                ///< frames whose FrameWritten is due
    bool is_writing_ = false;          ///< write() is going to be called

    bool has_taken_frame_ = false;
    std::size_t wanted_ = 0;           ///< bytes that places() has room for
    bool is_read_to_end_ = false;      ///< by a goodbye, or by what no honest end sends
    bool is_held_back_ = false;        ///< reading waits for taken()
    std::deque<std::size_t> untaken_;  ///< sizes of frames delivered but not taken
    std::size_t untaken_bytes_ = 0;

    std::chrono::milliseconds pause_;     ///< until the next ping, from when something was sent
    std::chrono::milliseconds promised_;  ///< until the other end's next ping, as it has said
    Clock::time_point sent_at_;           ///< anything, lately
    Clock::time_point lively_until_;
    Clock::time_point silent_at_ = Clock::time_point::max();  ///< the peer is dead if nothing comes
    Clock::time_point close_by_ = Clock::time_point::max();
};

}  // namespace dedloc::net
