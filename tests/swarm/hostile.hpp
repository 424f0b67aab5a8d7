// Who does not keep to the protocol: strangers, who only have a socket, and insiders, who have a
// key and a ticket like any member. What they do to others is up to the test. No threads.
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
    /// Not connected in the end if nobody takes it. Requires a descriptor more (DEDLOC_CHECK).
    explicit StrangerSocket(std::uint16_t port);
    ~StrangerSocket();
    StrangerSocket(StrangerSocket&& other) noexcept;
    StrangerSocket& operator=(StrangerSocket&&) = delete;

    /// How much of it fits the socket's buffer now; nothing when the other end has hung up.
    std::optional<std::size_t> write(std::span<const std::byte> bytes) const;
    /// How much there was to read; nothing when the other end has hung up.
    std::optional<std::size_t> read(std::span<std::byte> place) const;
    /// Until there is something to read, or room to write.
    void await_input(std::chrono::milliseconds limit) const;
    void await_space(std::chrono::milliseconds limit) const;

  private:
    int descriptor_;
};

/// A proven link on which the other end takes us for a member.
class InsiderLink final {
  public:
    /// Is not open if it is refused, or does not come about within ten seconds. `session` must
    /// outlive it.
    InsiderLink(const net::SessionOptions& session, std::uint16_t port);

    bool is_open() const { return is_open_; }
    /// In our name, or in that of `sender`: of the step that was heard of last, with the next
    /// sequence number.
    SharedBytes frame(wire::Body body);
    SharedBytes frame_of(const KeyPair& sender, wire::Body body);
    /// Waits for room in the socket's buffer, at most ten seconds. If not all of what the frame is
    /// on the wire is sent, nothing can be sent after it.
    void send(SharedBytes frame, std::size_t at_most = std::numeric_limits<std::size_t>::max());
    /// As a link frame of its own.
    void show(const formats::SignedTicket& ticket);
    /// Takes what has arrived. Who never calls it does not read.
    void pump();
    /// The last ones that came; nothing before the first one.
    const std::optional<wire::Heartbeat>& heartbeat() const { return heartbeat_; }
    std::optional<wire::Call> take_call() { return std::exchange(call_, {}); }

  private:
    bool shake_hands();
    void introduce_ourselves();
    bool read_exactly(std::span<std::byte> place);
    void write_all(std::span<const std::byte> bytes);
    void write_frame(net::FrameKind kind, SharedBytes body, std::size_t at_most);
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
};

}  // namespace dedloc::test
