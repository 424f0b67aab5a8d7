// TCP connections that are being dialled, each with a deadline. The transport limits their number.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "peer/events.hpp"
#include "peer/net/tcp/tcp_socket.hpp"

namespace dedloc::net {

/// What a connection is dialled for.
struct DialPurpose {
    std::optional<PeerKey> expected{};  ///< a new link, with this peer if given
    std::optional<LinkId> link{};       ///< one more flow of this link
};

/// Starts dials and reports their results. Thread: the transport's.
class TcpDials final {
  public:
    /// Callbacks to the owner: one of them is called once for each dial.
    struct Owner {
        /// The connected socket, its address, and the purpose that dial() was given.
        std::function<void(TcpSocket, const Endpoint&, const DialPurpose&)> on_connected;
        /// `why` is one of a small set of sentences without a full stop.
        std::function<void(const Endpoint&, const DialPurpose&, const std::string& why)> on_failed;
    };

    /// `context` must outlive the last callback. `congestion`: TransportOptions::congestion.
    TcpDials(asio::io_context& context, std::chrono::milliseconds deadline, std::string congestion,
             Owner owner);
    TcpDials(const TcpDials&) = delete;
    TcpDials& operator=(const TcpDials&) = delete;

    /// Dials `remote`. Exactly one callback follows, maybe before this returns. `has_place` false:
    /// the dial fails at once. `purpose` is only passed on to the callback.
    void dial(const Endpoint& remote, const DialPurpose& purpose, bool has_place);
    /// Number of dials in progress.
    std::size_t count() const { return count_; }

  private:
    struct Dialling;

    void finish(Dialling& dialling, const error_code& error);

    asio::io_context& context_;
    const std::chrono::milliseconds deadline_;
    const std::string congestion_;
    const Owner owner_;
    std::size_t count_ = 0;
};

}  // namespace dedloc::net
