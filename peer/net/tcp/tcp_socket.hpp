// Boost.Asio's types as peer/net/tcp uses them: bound to one io_context's executor without type
// erasure. Only the headers and sources of this folder include it.
#pragma once

#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <string>

namespace dedloc::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Asio's classes with the concrete executor of an io_context.
using Executor = asio::io_context::executor_type;
using TcpSocket = asio::basic_stream_socket<tcp, Executor>;
using TcpAcceptor = asio::basic_socket_acceptor<tcp, Executor>;
using Timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                         asio::wait_traits<std::chrono::steady_clock>, Executor>;

/// Sets close-on-exec: a child process with the descriptor would keep the connection open.
inline void keep_from_children(int descriptor) {
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

/// Sets close-on-exec and disables Nagle's algorithm, which would delay a receipt or a vote by a
/// round trip while other data is in flight. Chooses the congestion control of this name, unless
/// it is empty or the system has none that this process may use. Does nothing on a connection that
/// is lost already.
inline void set_up(TcpSocket& socket, const std::string& congestion) {
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    keep_from_children(socket.native_handle());
    if (congestion.empty()) return;
    setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_CONGESTION, congestion.data(),
               static_cast<socklen_t>(congestion.size()));
}

/// Bytes that TCP may hold unsent before one of a link's several flows takes another frame: no
/// other flow could send them any more.
inline constexpr int kMaxUnsent = 8 << 10;

/// Lets asynchronous waits for space end when fewer than kMaxUnsent bytes are unsent.
inline void wait_until_sent(int descriptor) {
    setsockopt(descriptor, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kMaxUnsent, sizeof kMaxUnsent);
}

/// Whether kMaxUnsent bytes or more are unsent. The system's own limit is no bound: it lets a write
/// append to a packet that waits.
inline bool is_full(int descriptor) {
    int unsent = 0;
    return ioctl(descriptor, SIOCOUTQNSD, &unsent) == 0 && unsent >= kMaxUnsent;
}

/// Lets the connection fail when its other end has acknowledged nothing for 20 seconds: a link
/// pings on its first flow only. An idle one asks for a sign of life after 8 seconds, and then
/// every 3 seconds as long as there is none, so one lost packet does not end it.
inline void watch_other_end(int descriptor) {
    const auto set = [&](int level, int option, int value) {
        setsockopt(descriptor, level, option, &value, sizeof value);
    };
    constexpr int kIdle = 8;
    constexpr int kInterval = 3;
    constexpr int kProbes = 4;
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, kIdle);
    set(IPPROTO_TCP, TCP_KEEPINTVL, kInterval);
    // The system ends the connection at the first probe after this time, however many were lost.
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, 1'000 * (kIdle + kInterval * kProbes));
}

}  // namespace dedloc::net
