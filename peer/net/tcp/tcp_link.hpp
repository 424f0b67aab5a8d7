// One TCP connection that carries frames to and from another peer. Everything runs on the
// transport's thread: the link reads and writes without blocking until the socket would block or
// the turn's byte budget is used, then it waits for Asio.
//
// A FrameCodec encodes the frames, plain or sealed. A ping is sent after an interval without other
// frames and announces the next ping. On a link that carries only pings they become rarer; the
// first frame makes both ends ping often again. If nothing arrives within a timeout the peer is
// dead (TCP alone would not notice a cut cable for hours). A goodbye ends a link politely: its
// receiver has read everything before it and hangs up. Frames are sealed when they are written, so
// that a waiting frame is shared by all links that send it.
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
#include "peer/net/tcp/rate_limit.hpp"
#include "peer/net/tcp/tcp_socket.hpp"
#include "peer/net/tcp/transport_options.hpp"
#include "peer/trainer.hpp"

namespace dedloc::net {

/// Held by shared pointers, since Asio calls pending handlers even after cut(). Thread: the
/// transport's.
class TcpLink final : public std::enable_shared_from_this<TcpLink> {
  public:
    /// Callbacks to the transport.
    struct Owner {
        /// Judges a ticket that the other end shows: kNone, or the reason to end the link.
        std::function<LinkRefusal(LinkId, std::span<const std::byte>)> on_ticket;
        /// True: reading stops until taken() is called often enough. False: it goes on.
        std::function<void(bool)> on_held_back;
        /// The first data frame has arrived.
        std::function<void(LinkId)> on_first_frame;
        /// The last callback, after event::LinkClosed.
        std::function<void(LinkId)> on_over;
    };

    /// The connection and what its handshake has agreed on.
    struct Connection {
        TcpSocket socket;   ///< connected
        FrameCodec codec;   ///< plain, or with the session keys
        LinkWindow window;  ///< knows the round trip of the handshake
    };

    /// `traffic` and `sink` must outlive this link. `sink` may block, and then blocks the
    /// transport's thread.
    TcpLink(LinkId id, Connection connection, const LinkLimits& limits, LinkTraffic& traffic,
            const EventSink& sink, Owner owner);
    TcpLink(const TcpLink&) = delete;
    TcpLink& operator=(const TcpLink&) = delete;

    /// Starts reading and pinging. Call it once, after event::LinkOpened has been posted.
    void start();
    /// Queues the frame; cuts the link if the queue exceeds its limit. Does nothing after close or
    /// cut. Requires frame size ≤ limits.frame_bytes.
    void send(Frame frame);
    /// Queues an encoded ticket for the other end. Does nothing after close or cut.
    void show(SharedBytes ticket);
    /// Queues a goodbye, drops frames that still arrive, and ends when the peer has hung up or
    /// after limits.farewell.
    void close();
    /// Drops the queue, sends a goodbye with the reason, and ends like close().
    void refuse(LinkRefusal why);
    /// Ends the link now: event::LinkClosed and on_over are done when this returns.
    void cut();
    /// The driver has taken one delivered frame; resumes reading if it waited for that.
    void taken();

  private:
    using Clock = std::chrono::steady_clock;

    void enqueue(FrameKind kind, Frame body, std::uint32_t detail = 0);
    void say_goodbye(LinkRefusal reason);
    void write_soon();
    void write(std::size_t allowed);
    void write_when_allowed();
    void write_when_possible();
    void count_written(std::size_t bytes);
    void tell_written();

    void read_more();
    void read(std::size_t allowed);
    void received(error_code error, std::size_t bytes);
    bool decode(std::size_t bytes);
    std::array<asio::mutable_buffer, 2> places(std::size_t allowed);
    bool is_reading() const { return !is_held_back_ && !awaits_allowance_; }
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
    LinkTraffic& traffic_;
    const EventSink& sink_;
    const Owner owner_;
    const std::unique_ptr<FrameDecoder> decoder_;
    const FrameDecoder::Deliver deliver_;
    const std::unique_ptr<FrameEncoder> encoder_;
    TcpSocket socket_;
    Timer tick_;

    bool is_closing_ = false;
    bool is_over_ = false;
    std::string why_;  ///< reason for event::LinkClosed; empty if there is none

    std::deque<OutgoingFrame> queue_;  ///< frames that do not fit into the encoder yet
    std::size_t queue_bytes_ = 0;      ///< size of the frames in queue_ and in the encoder
    LinkWindow window_;                ///< decides when FrameWritten is posted
    bool is_writing_ = false;          ///< a call of write() is scheduled

    bool has_taken_frame_ = false;
    std::size_t wanted_ = 0;           ///< size of the buffers that places() returned
    bool is_read_to_end_ = false;      ///< after a goodbye or an invalid receipt
    bool is_held_back_ = false;        ///< reading waits for taken()
    bool awaits_allowance_ = false;    ///< reading waits for traffic_.download
    std::deque<std::size_t> untaken_;  ///< sizes of delivered frames that were not taken yet
    std::size_t untaken_bytes_ = 0;

    std::chrono::milliseconds pause_;     ///< the next ping is due this long after sent_at_
    std::chrono::milliseconds promised_;  ///< until the other end's next ping, as it announced
    Clock::time_point sent_at_;           ///< when the last frame was queued
    Clock::time_point lively_until_;      ///< until then pings are frequent
    Clock::time_point silent_at_ = Clock::time_point::max();  ///< end of the silence timeout
    Clock::time_point close_by_ = Clock::time_point::max();
};

}  // namespace dedloc::net
