// One TCP connection of a link: it reads and writes frames without blocking until the socket would
// block or the turn's byte budget is used, then it waits for Asio. A link has one flow, or several
// that share its frames; TcpLink decides which frame goes where.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "peer/net/session/frame_codec.hpp"
#include "peer/net/tcp/rate_limit.hpp"
#include "peer/net/tcp/tcp_socket.hpp"

namespace dedloc::net {

class TcpFlow;

/// The link of a flow. No call follows TcpFlow::stop().
class FlowOwner {
  public:
    virtual ~FlowOwner() = default;

    /// Keeps the owner and its flows alive while a handler waits.
    virtual std::shared_ptr<void> hold() = 0;
    /// Whether there is a frame that any flow may take.
    virtual bool has_frame() const = 0;
    /// The flow takes it. Requires has_frame().
    virtual OutgoingFrame next_frame() = 0;
    /// The socket has taken the data frame with this number.
    virtual void on_taken(std::uint32_t number) = 0;
    /// The socket has taken frames of this size together, the last of them just now.
    virtual void on_written(std::size_t frames, std::size_t bytes) = 0;
    /// The flow begins to wait for bytes.
    virtual void on_reading() = 0;
    /// A part of a data frame has arrived.
    virtual void on_part() = 0;
    /// A frame has arrived; `body` is null if it has none. False: the link must end.
    virtual bool on_frame(TcpFlow& flow, const FrameHeader& header, SharedBytes body) = 0;
    /// Called after frames have arrived. True: the flow stops reading until resume().
    virtual bool holds_back() = 0;
    /// A goodbye has arrived: the flow reads no more.
    virtual void on_read_to_end() = 0;
    /// The connection has failed, or has brought bytes that are no frames: the link must end.
    virtual void on_broken() = 0;
};

/// Belongs to its link, whose hold() keeps it alive: Asio calls pending handlers even after
/// stop(). Thread: the transport's.
class TcpFlow final {
  public:
    /// `owner` and `traffic` must outlive this flow.
    TcpFlow(TcpSocket socket, FrameCodec codec, LinkTraffic& traffic, FlowOwner& owner);
    TcpFlow(const TcpFlow&) = delete;
    TcpFlow& operator=(const TcpFlow&) = delete;

    /// Starts reading. Call it once. False: the connection is lost.
    [[nodiscard]] bool start();
    /// Closes the connection and ends all calls of the owner.
    void stop();

    /// Queues a frame of this flow.
    void enqueue(OutgoingFrame frame);
    /// Asks the owner for a frame soon, unless frames are being written.
    void write_more();
    /// The queue's last frame, which is not being written yet; null if the queue is empty.
    FrameHeader* last_queued() { return queue_.empty() ? nullptr : &queue_.back().header; }
    /// Removes the frames that are not being written yet.
    std::deque<OutgoingFrame> take_queue() { return std::exchange(queue_, {}); }
    /// Reads again after FlowOwner::holds_back() was true.
    void resume();
    /// Reading waits for LinkTraffic::download.
    bool awaits_allowance() const { return awaits_allowance_; }
    /// The connection's descriptor.
    int descriptor() { return socket_.native_handle(); }

  private:
    void write_soon();
    void write(std::size_t allowed);
    bool fill_encoder();
    void write_when_allowed();
    void write_when_possible();
    void count_written(std::size_t bytes);

    void read_more();
    void read(std::size_t allowed);
    void received(error_code error, std::size_t bytes);
    bool decode(std::size_t bytes);
    std::array<asio::mutable_buffer, 2> places(std::size_t allowed);

    LinkTraffic& traffic_;
    FlowOwner& owner_;
    const std::unique_ptr<FrameDecoder> decoder_;
    const FrameDecoder::Deliver deliver_;
    const std::unique_ptr<FrameEncoder> encoder_;
    TcpSocket socket_;
    bool is_over_ = false;

    std::deque<OutgoingFrame> queue_;    ///< frames that do not fit into the encoder yet
    std::deque<std::uint32_t> numbers_;  ///< those of the data frames in the encoder
    bool is_writing_ = false;            ///< a call of write() is scheduled

    std::size_t wanted_ = 0;         ///< size of the buffers that places() returned
    bool is_read_to_end_ = false;    ///< after a goodbye
    bool is_invalid_ = false;        ///< the owner has refused a frame
    bool is_held_back_ = false;      ///< reading waits for resume()
    bool awaits_allowance_ = false;  ///< reading waits for traffic_.download
};

}  // namespace dedloc::net
