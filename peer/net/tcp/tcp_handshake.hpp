// A connection whose two ends have not proven yet who they are: plays the handshake over a socket,
// against a deadline, and then hands the socket on or says why not.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "peer/net/session/handshake.hpp"
#include "peer/net/tcp/tcp_socket.hpp"

namespace dedloc::net {

/// Tickets are compared with the machine's clock, whatever the protocol's time is.

/// Thread: the transport's. Shared, since asio also calls what it was told before a cut.
class TcpHandshake final : public std::enable_shared_from_this<TcpHandshake> {
  public:
    struct Terms {
        std::shared_ptr<const SessionOptions> session;
        Side side = Side::kListener;
        std::optional<PeerKey> expected;
        std::chrono::milliseconds deadline;  ///< from start() on, for everything together
    };

    /// What the handshake tells its owner.
    struct Owner {
        /// The other end's Hello has come and is good. Must not end this handshake.
        std::function<void()> on_hello;
        /// Called once after start, but not by it. The connection is closed by then unless both
        /// ends are proven.
        std::function<void(TcpHandshake&)> on_over;
    };

    /// What is referred to must outlive the transport's thread; `revoked` is read when a ticket is
    /// judged.
    TcpHandshake(TcpSocket socket, const Terms& terms, const formats::Revocations& revoked,
                 Owner owner);
    TcpHandshake(const TcpHandshake&) = delete;
    TcpHandshake& operator=(const TcpHandshake&) = delete;

    void start();
    /// Ends it now for this reason, if it is not over.
    void cut(LinkRefusal why);

    // For Owner::on_over.
    bool is_proven() const { return handshake_.is_proven() && why_ == LinkRefusal::kNone; }
    /// The shortest time from the first byte of a message to the last of its answer; the highest
    /// value if there was none.
    std::chrono::nanoseconds round_trip() const { return round_trip_; }
    /// Requires is_proven().
    const Proven& proven() const { return handshake_.proven(); }
    TcpSocket take_socket() { return std::move(socket_); }
    /// Why not, in one sentence without a full stop; one of a few. Requires !is_proven().
    std::string sentence() const;
    /// The other end has proven to be this peer itself.
    bool is_self() const {
        return handshake_.refusal() == LinkRefusal::kMyself && !handshake_.is_told();
    }

  private:
    using Clock = std::chrono::steady_clock;

    void proceed();
    bool goes_on(const error_code& error);
    void failed(LinkRefusal why);
    void over();
    void take_in();

    const std::shared_ptr<const SessionOptions> session_;
    const std::chrono::milliseconds timeout_;
    const formats::Revocations& revoked_;
    const Owner owner_;
    Handshake handshake_;
    TcpSocket socket_;
    Timer deadline_;

    std::optional<Clock::time_point> asked_at_;  ///< with what was last written
    std::chrono::nanoseconds round_trip_ = std::chrono::nanoseconds::max();
    Buffer out_;
    std::array<std::byte, Handshake::kSealedBytes> in_{};
    bool has_hello_ = false;
    bool is_over_ = false;
    LinkRefusal why_ = LinkRefusal::kNone;  ///< other than the handshake's own reason
};

}  // namespace dedloc::net
