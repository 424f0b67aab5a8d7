#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "peer/base/error.hpp"
#include "peer/net/tcp/tcp_socket.hpp"
#include "peer/net/tcp/tcp_transport.hpp"
#include "peer/platform/ports.hpp"
#include "tests/peer/net/tcp/inbox.hpp"

namespace dedloc::net {
namespace {

/// Whether this machine has an IPv6 loopback address.
bool has_ipv6() {
    try {
        platform::free_port("::1");
        return true;
    } catch (const Error&) {
        return false;
    }
}

TEST_CASE("a transport listens at the preferred port if that is free", "[net]") {
    Inbox inbox;
    auto first = std::make_unique<TcpTransport>(on_loopback(), inbox.sink());
    TransportOptions options = on_loopback();
    options.preferred_port = first->bound_port();
    REQUIRE(options.preferred_port != 0);
    CHECK(first->listening_port() == options.preferred_port);
    {
        const TcpTransport second{options, inbox.sink()};
        CHECK(second.bound_port() != 0);
        CHECK(second.bound_port() != options.preferred_port);
    }
    first.reset();
    TcpTransport third{options, inbox.sink()};
    CHECK(third.bound_port() == options.preferred_port);
    third.set_listening_port(0);
    CHECK(third.listening_port() == 0);
    CHECK(third.bound_port() == options.preferred_port);
    CHECK(TcpTransport({}, inbox.sink()).bound_port() == 0);
}

/// The address that the listener sees if it is dialled there; empty: the dial fails.
std::string seen_from(const TcpTransport& listener, Inbox& inbox, const std::string& host) {
    Inbox own;
    TcpTransport dialler{{}, own.sink()};
    dialler.dial({host, listener.bound_port()});
    if (!own.next<event::LinkOpened>()) return "";
    const auto opened = inbox.next<event::LinkOpened>();
    return opened ? opened->remote.host : "";
}

TEST_CASE("one socket accepts IPv4 and IPv6, and names IPv4 addresses as such", "[net]") {
    Inbox inbox;
    TransportOptions options;
    options.listen = Endpoint{"::", 0};
    const TcpTransport listener{options, inbox.sink()};
    REQUIRE(listener.bound_port() != 0);
    CHECK(seen_from(listener, inbox, "127.0.0.1") == "127.0.0.1");
    const auto v6 = seen_from(listener, inbox, "::1");
    if (has_ipv6()) {
        CHECK(v6 == "::1");
    }
}

TEST_CASE("an IPv6 address is listened at alone", "[net]") {
    if (!has_ipv6()) return;
    Inbox inbox;
    TransportOptions options;
    options.listen = Endpoint{"::1", 0};
    const TcpTransport listener{options, inbox.sink()};
    CHECK(seen_from(listener, inbox, "::1") == "::1");
}

TEST_CASE("a socket gets the congestion control that is wanted if the system has it", "[net]") {
    asio::io_context context;
    TcpSocket socket{context};
    socket.open(tcp::v4());
    const auto name = [&] {
        std::array<char, 16> text{};
        socklen_t size = text.size();
        REQUIRE(getsockopt(socket.native_handle(), IPPROTO_TCP, TCP_CONGESTION, text.data(),
                           &size) == 0);
        return std::string{text.data()};
    };
    const std::string own = name();
    set_up(socket, "");
    CHECK(name() == own);
    set_up(socket, "no such one");
    CHECK(name() == own);
    set_up(socket, "reno");  // every Linux has it, and permits it to all
    CHECK(name() == "reno");
}

}  // namespace
}  // namespace dedloc::net
