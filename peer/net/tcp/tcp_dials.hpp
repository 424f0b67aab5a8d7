// Connections that are being dialled: each has a deadline, and their number has a bound.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "peer/events.hpp"
#include "peer/net/tcp/tcp_socket.hpp"

namespace dedloc::net {

/// Thread: the transport's.
class TcpDials final {
  public:
    struct Owner {
        std::function<void(TcpSocket, const Endpoint&, const std::optional<PeerKey>&)> on_connected;
        /// `why` is one of a few sentences without a full stop.
        std::function<void(const Endpoint&, const std::string& why)> on_failed;
    };

    /// `context` must outlive the last call of the owner's.
    TcpDials(asio::io_context& context, std::chrono::milliseconds deadline, Owner owner);
    TcpDials(const TcpDials&) = delete;
    TcpDials& operator=(const TcpDials&) = delete;

    /// Ends with exactly one call of the owner's, which may come before this returns. With
    /// `has_place` false it fails at once.
    void dial(const Endpoint& remote, const std::optional<PeerKey>& expected, bool has_place);
    /// Of them under way.
    std::size_t count() const { return count_; }

  private:
    struct Dialling;

    void finish(Dialling& dialling, const error_code& error);

    asio::io_context& context_;
    const std::chrono::milliseconds deadline_;
    const Owner owner_;
    std::size_t count_ = 0;
};

}  // namespace dedloc::net
