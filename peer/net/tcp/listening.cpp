// Two processes may both bind a port where none listens yet, so the result of listen() counts, too.
#include "peer/net/tcp/listening.hpp"

#include <fmt/format.h>

#include <boost/asio/ip/v6_only.hpp>

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
    const bool is_v6 = here.address().is_v6();
    const bool is_both = is_v6 && here.address().is_unspecified();
    if (is_v6 && !error) acceptor.set_option(asio::ip::v6_only(!is_both), error);
    if (!error) acceptor.bind(here, error);
    if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
    return error;
}

/// The same at the preferred port, if there is one and the port is not given.
error_code open_near(TcpAcceptor& acceptor, const tcp::endpoint& here,
                     std::uint16_t preferred_port) {
    if (here.port() == 0 && preferred_port != 0) {
        if (!open_at(acceptor, {here.address(), preferred_port})) return {};
    }
    return open_at(acceptor, here);
}

}  // namespace

std::uint16_t listen(TcpAcceptor& acceptor, const Endpoint& endpoint,
                     std::uint16_t preferred_port) {
    if (!is_numeric_host(endpoint.host)) {
        throw InputError(
            fmt::format("cannot listen on \"{}\": it is not a numeric address", endpoint.host));
    }
    const auto host = asio::ip::make_address(endpoint.host);
    error_code error = open_near(acceptor, {host, endpoint.port}, preferred_port);
    bool is_in_use = error == asio::error::address_in_use;
    if (error && !is_in_use && host == asio::ip::address_v6::any()) {
        const asio::ip::address v4 = asio::ip::address_v4::any();
        error = open_near(acceptor, {v4, endpoint.port}, preferred_port);
        is_in_use = error == asio::error::address_in_use;
    }
    if (error) {
        throw IoError(fmt::format("cannot listen on {}: {}", endpoint.text(),
                                  is_in_use ? "the port is in use" : error.message()));
    }
    return acceptor.local_endpoint().port();
}

}  // namespace dedloc::net
