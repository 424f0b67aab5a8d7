// Runs the handshake of one pending link, or of one more flow of a link, over its socket, with a
// deadline. It ends with the proven socket or with the reason of the failure. The first message of
// an incoming connection decides which of the two it is.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "peer/net/session/flow_handshake.hpp"
#include "peer/net/session/handshake.hpp"
#include "peer/net/tcp/tcp_socket.hpp"

namespace dedloc::net {

/// Held by shared pointers, since Asio calls pending handlers even after cut(). Thread: the
/// transport's.
class TcpHandshake final : public std::enable_shared_from_this<TcpHandshake> {
  public:
    /// Parameters of one handshake.
    struct Terms {
        std::shared_ptr<const SessionOptions> session;  ///< credentials of this end
        Side side = Side::kListener;                    ///< the role of this end
        std::optional<PeerKey> expected;                ///< refuse an end that proves another key
        std::optional<FlowSecret> link;                 ///< the connection is a flow of this link
        std::chrono::milliseconds deadline;             ///< for the whole handshake, from start()
    };

    /// Callbacks to the owner.
    struct Owner {
        /// The other end's Hello or Attach is valid. The callback must not end this handshake.
        std::function<void()> on_hello;
        /// Asked once about an incoming link whose other end has proven its key.
        Admit admit;
        /// Looks up the link that an incoming flow is for.
        FlowHandshake::FindLink find_link;
        /// The handshake is over. Called exactly once after start(), never from within it. The
        /// connection is closed by then unless is_proven().
        std::function<void(TcpHandshake&)> on_over;
    };

    /// `revoked` is read when a ticket is judged; it must outlive the transport's thread.
    TcpHandshake(TcpSocket socket, const Terms& terms, const formats::Revocations& revoked,
                 Owner owner);
    TcpHandshake(const TcpHandshake&) = delete;
    TcpHandshake& operator=(const TcpHandshake&) = delete;

    /// Starts the deadline and the handshake. Call it once.
    void start();
    /// Ends the handshake now with this reason; does nothing if it is over.
    void cut(LinkRefusal why);

    // The result, for Owner::on_over.

    /// Both ends have proven their keys.
    bool is_proven() const {
        const bool is_done = flow_ ? flow_->is_proven() : handshake_.is_proven();
        return is_done && why_ == LinkRefusal::kNone;
    }
    /// The handshake of a flow; null if this is a new link.
    const FlowHandshake* flow() const { return flow_.get(); }
    /// The shortest time from writing a message to the end of the answer; the highest value if
    /// there was no answer.
    std::chrono::nanoseconds round_trip() const { return round_trip_; }
    /// The other end and the session keys. Requires is_proven() and no flow().
    const Proven& proven() const { return handshake_.proven(); }
    /// Moves the connected socket out.
    TcpSocket take_socket() { return std::move(socket_); }
    /// The reason of the failure without a full stop, one of a small set of sentences. Requires
    /// !is_proven().
    std::string sentence() const;
    /// True if the other end has proven this peer's own key.
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
    std::size_t wants() const { return flow_ ? flow_->wants() : handshake_.wants(); }
    bool is_refused() const { return flow_ ? flow_->is_refused() : handshake_.is_refused(); }

    const std::shared_ptr<const SessionOptions> session_;
    const Side side_;
    const std::chrono::milliseconds timeout_;
    const formats::Revocations& revoked_;
    const Owner owner_;
    Handshake handshake_;
    std::unique_ptr<FlowHandshake> flow_;  ///< instead of handshake_
    TcpSocket socket_;
    Timer deadline_;

    std::optional<Clock::time_point> asked_at_;  ///< when the last message was written
    std::chrono::nanoseconds round_trip_ = std::chrono::nanoseconds::max();
    Buffer out_;
    std::array<std::byte, Handshake::kSealedBytes> in_{};
    bool has_message_ = false;  ///< one of the other end
    bool is_over_ = false;
    LinkRefusal why_ = LinkRefusal::kNone;  ///< a reason outside the handshake, such as a timeout
};

}  // namespace dedloc::net
