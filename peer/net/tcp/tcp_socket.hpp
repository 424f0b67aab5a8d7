// Boost.Asio's objects as peer/net uses them: bound to one io_context without type erasure. Nothing
// outside tcp_*.hpp and tcp_*.cpp includes this.
#pragma once

#include <fcntl.h>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>

namespace dedloc::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

using Executor = asio::io_context::executor_type;
using TcpSocket = asio::basic_stream_socket<tcp, Executor>;
using TcpAcceptor = asio::basic_socket_acceptor<tcp, Executor>;
using Timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                         asio::wait_traits<std::chrono::steady_clock>, Executor>;

/// A program that this process starts does not get the descriptor, or it would keep the connection
/// open.
inline void keep_from_children(int descriptor) {
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

/// It sends small data at once: by Nagle's algorithm a receipt or a vote would wait for a round
/// trip while something else is on its way. On a connection that is lost already this does nothing.
inline void set_up(TcpSocket& socket) {
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    keep_from_children(socket.native_handle());
}

}  // namespace dedloc::net
