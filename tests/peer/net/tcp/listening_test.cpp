#include <catch2/catch.hpp>
#include <memory>

#include "peer/net/tcp/tcp_transport.hpp"
#include "tests/peer/net/tcp/inbox.hpp"

namespace dedloc::net {
namespace {

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

}  // namespace
}  // namespace dedloc::net
