// A link carries frames to and from another peer over one TCP connection, its first flow, or over
// several. Everything runs on the transport's thread.
//
// Flows      A link that is limited by loss gets more flows. Its large frames then wait in one
//            queue, and each flow takes the next one when its socket has space. All other frames
//            stay on the first flow. Data frames are numbered and delivered in the order of their
//            numbers, so the link keeps its promise; a receipt says that a frame was delivered.
//            The link ends if one of its flows fails, since its frames are nowhere else.
//
// Signs of life
//            A ping is sent after an interval without other
//            frames and announces the next ping. On a link that carries only pings they become
//            rarer; the first frame makes both ends ping often again. If nothing arrives within a
//            timeout the peer is dead (TCP alone would not notice a cut cable for hours).
// Goodbye    Ends a link politely, on each of its flows: its receiver has read everything before
//            it and hangs up.
//
// Frames are sealed when they are written, so that a waiting frame is shared by all links that
// send it.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "peer/net/session/frame_codec.hpp"
#include "peer/net/session/frame_order.hpp"
#include "peer/net/session/link_refusal.hpp"
#include "peer/net/session/link_window.hpp"
#include "peer/net/session/loss_watch.hpp"
#include "peer/net/tcp/rate_limit.hpp"
#include "peer/net/tcp/tcp_flow.hpp"
#include "peer/net/tcp/tcp_socket.hpp"
#include "peer/net/tcp/transport_options.hpp"
#include "peer/trainer.hpp"

namespace dedloc::net {

/// Held by shared pointers, since Asio calls pending handlers even after cut(). Thread: the
/// transport's.
class TcpLink final : public FlowOwner, public std::enable_shared_from_this<TcpLink> {
  public:
    /// Callbacks to the transport.
    struct Owner {
        /// Judges a ticket that the other end shows: kNone, or the reason to end the link.
        std::function<LinkRefusal(LinkId, std::span<const std::byte>)> on_ticket;
        /// True: reading stops until taken() is called often enough. False: it goes on.
        std::function<void(bool)> on_held_back;
        /// The first data frame has arrived.
        std::function<void(LinkId)> on_first_frame;
        /// The other end asks for more flows.
        std::function<void(LinkId)> on_widen;
        /// The last callback, after event::LinkClosed.
        std::function<void(LinkId)> on_over;
    };

    /// The connection and what its handshake has agreed on.
    struct Connection {
        TcpSocket socket;   ///< connected
        FrameCodec codec;   ///< plain, or with the session keys
        LinkWindow window;  ///< knows the round trip of the handshake
        bool may_widen;     ///< false: it never gets more flows
    };

    /// `traffic` and `sink` must outlive this link. `sink` may block, and then blocks the
    /// transport's thread.
    TcpLink(LinkId id, Connection connection, const LinkLimits& limits, LinkTraffic& traffic,
            const EventSink& sink, Owner owner);
    TcpLink(const TcpLink&) = delete;
    TcpLink& operator=(const TcpLink&) = delete;

    ~TcpLink() override = default;

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

    /// Adds a flow, also while the link is closing. Requires Connection::may_widen.
    void add_flow(TcpSocket socket, FrameCodec codec);
    /// Number of flows, at least one.
    std::size_t flows() const { return flows_.size(); }
    /// After close() or refuse().
    bool is_closing() const { return is_closing_; }
    /// A check about once a second: whether loss limits the link's only flow. `probe`:
    /// TransportOptions::probe.
    bool is_limited_by_loss(const FlowProbe& probe);
    /// Asks the other end, which has dialled, to attach more flows. Does nothing after close or
    /// cut.
    void ask_to_widen();

  private:
    using Clock = std::chrono::steady_clock;

    // FlowOwner
    std::shared_ptr<void> hold() override { return shared_from_this(); }
    bool has_frame() const override;
    OutgoingFrame next_frame() override;
    void on_taken(std::uint32_t number) override;
    void on_written(std::size_t frames, std::size_t bytes) override;
    void on_reading() override;
    void on_part() override { liven(); }
    bool on_frame(TcpFlow& flow, const FrameHeader& header, SharedBytes body) override;
    bool holds_back() override;
    void on_read_to_end() override;
    void on_broken() override { cut(); }

    TcpFlow& first() { return *flows_.front(); }
    void enqueue(TcpFlow& flow, FrameKind kind, Frame body, std::uint32_t detail = 0);
    OutgoingFrame make_frame(FrameKind kind, Frame body, std::uint32_t detail);
    void fly(std::size_t bytes);
    void share_queue();
    void write_more();
    void say_goodbye(LinkRefusal reason);
    void queue_goodbyes();
    void tell_written();

    bool is_reading() const;
    bool is_full() const;
    void hold_back(bool now);

    bool take_data(std::uint32_t number, SharedBytes frame);
    void deliver(SharedBytes frame);
    bool take_receipts(std::size_t count);
    void take_goodbye(std::uint32_t detail);
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
    const bool may_widen_;
    std::vector<std::unique_ptr<TcpFlow>> flows_;  ///< the first one carries small frames
    Timer tick_;

    bool is_closing_ = false;
    bool is_over_ = false;
    std::string why_;  ///< reason for event::LinkClosed; empty if there is none

    std::deque<OutgoingFrame> shared_;  ///< large frames for any flow, if there are several
    std::size_t queue_bytes_ = 0;       ///< size of the frames in shared_ and in the flows
    LinkWindow window_;                 ///< decides when FrameWritten is posted
    SentFrames sent_;
    std::deque<std::size_t> flying_;  ///< sizes of large frames in flows that are not confirmed
    std::size_t flying_bytes_ = 0;
    LinkRefusal goodbye_ = LinkRefusal::kNone;  ///< the reason of this end's goodbye
    LossWatch loss_;

    bool has_taken_frame_ = false;
    ReceivedFrames received_;
    std::size_t goodbyes_ = 0;          ///< received on so many flows
    std::size_t awaited_goodbyes_ = 0;  ///< as the first one has announced
    bool is_held_back_ = false;         ///< reading waits for taken()
    std::deque<std::size_t> untaken_;   ///< sizes of delivered frames that were not taken yet
    std::size_t untaken_bytes_ = 0;

    std::chrono::milliseconds pause_;     ///< the next ping is due this long after sent_at_
    std::chrono::milliseconds promised_;  ///< until the other end's next ping, as it announced
    Clock::time_point sent_at_;           ///< when the last frame was queued
    Clock::time_point lively_until_;      ///< until then pings are frequent
    Clock::time_point silent_at_ = Clock::time_point::max();  ///< end of the silence timeout
    Clock::time_point close_by_ = Clock::time_point::max();
};

}  // namespace dedloc::net
