// Two processes may both bind a port where none listens yet, so the result of listen() counts, too.
#include "peer/net/tcp/listening.hpp"

#include <fmt/format.h>

#include "peer/base/error.hpp"
#include "peer/net/endpoint_text.hpp"

namespace dedloc::net {
namespace {

error_code open_at(TcpAcceptor& acceptor, const tcp::endpoint& here) {
    error_code error;
    acceptor.close(error);
    acceptor.open(here.protocol(), error);
    if (error) return error;
    keep_from_children(acceptor.native_handle());
    acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor.bind(here, error);
    if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
    return error;
}

}  // namespace

std::uint16_t listen(TcpAcceptor& acceptor, const Endpoint& endpoint,
                     std::uint16_t preferred_port) {
    if (!is_numeric_host(endpoint.host)) {
        throw InputError(
            fmt::format("cannot listen on \"{}\": it is not a numeric address", endpoint.host));
    }
    const auto host = asio::ip::make_address(endpoint.host);
    const bool has_preference = endpoint.port == 0 && preferred_port != 0;
    error_code error = open_at(acceptor, {host, has_preference ? preferred_port : endpoint.port});
    if (error && has_preference) error = open_at(acceptor, {host, 0});
    if (error) {
        const bool is_in_use = error == asio::error::address_in_use;
        throw IoError(fmt::format("cannot listen on {}: {}", endpoint.text(),
                                  is_in_use ? "the port is in use" : error.message()));
    }
    return acceptor.local_endpoint().port();
}

}  // namespace dedloc::net
