// Attackers for tests: a stranger only has a socket; an insider has a key and a ticket like any
// member. The test decides what they send. There are no threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "peer/net/session/frame_codec.hpp"
#include "peer/net/session/handshake.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::test {

/// A connection to a port of 127.0.0.1.
class StrangerSocket final {
  public:
    /// Starts to connect; if the connection is not accepted, reads and writes give nothing.
    /// Requires a free descriptor (DEDLOC_CHECK).
    explicit StrangerSocket(std::uint16_t port);
    ~StrangerSocket();
    StrangerSocket(StrangerSocket&& other) noexcept;
    StrangerSocket& operator=(StrangerSocket&&) = delete;

    /// Writes as much as the socket's buffer takes now and returns the number of bytes; nothing
    /// when the other end has hung up.
    std::optional<std::size_t> write(std::span<const std::byte> bytes) const;
    /// Reads what is there and returns the number of bytes; nothing when the other end has hung up.
    std::optional<std::size_t> read(std::span<std::byte> place) const;
    /// Waits until there is something to read, or space to write.
    void await_input(std::chrono::milliseconds limit) const;
    void await_space(std::chrono::milliseconds limit) const;

  private:
    int descriptor_;
};

/// A proven link: the other end accepts the insider as a member.
class InsiderLink final {
  public:
    /// Connects and runs the handshake. is_open() is false if that is refused or takes more than
    /// ten seconds. `session` must outlive the link.
    InsiderLink(const net::SessionOptions& session, std::uint16_t port);

    bool is_open() const { return is_open_; }
    /// Encodes a frame in our own name, or in the name of `sender`, with the last step that the
    /// other end has reported and the next sequence number.
    SharedBytes frame(wire::Body body);
    SharedBytes frame_of(const KeyPair& sender, wire::Body body);
    /// Sends a frame, or only `max_bytes` of it on the wire; nothing can be sent after such
    /// a partial frame. Waits at most ten seconds for space in the socket's buffer.
    void send(SharedBytes frame, std::size_t max_bytes = std::numeric_limits<std::size_t>::max());
    /// Sends a ticket frame.
    void show(const formats::SignedTicket& ticket);
    /// Reads what has arrived. Nothing else reads the link.
    void pump();
    /// The last heartbeat, and the last call that was not taken yet; nothing: none has come.
    const std::optional<wire::Heartbeat>& heartbeat() const { return heartbeat_; }
    std::optional<wire::Call> take_call() { return std::exchange(call_, {}); }

  private:
    bool shake_hands();
    void introduce_ourselves();
    bool read_exactly(std::span<std::byte> place);
    void write_all(std::span<const std::byte> bytes);
    void write_frame(net::FrameKind kind, SharedBytes body, std::size_t max_bytes);
    void take(const SharedBytes& frame);

    const net::SessionOptions& session_;
    StrangerSocket socket_;
    net::FrameCodec codec_;
    std::uint64_t sequence_ = 0;
    StepIndex step_;
    std::optional<wire::Heartbeat> heartbeat_;
    std::optional<wire::Call> call_;
    bool is_introduced_ = false;
    bool is_open_ = false;
    std::uint32_t data_frames_ = 0;  ///< sent so far
};

}  // namespace dedloc::test
