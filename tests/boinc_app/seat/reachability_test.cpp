#include "boinc_app/seat/reachability.hpp"

#include <catch2/catch.hpp>

#include "peer/net/dht/dht_seed.hpp"

namespace dedloc::seat {
namespace {

TEST_CASE("a port counts as one that cannot be dialled any more after two such answers",
          "[boinc]") {
    const net::DhtSeed seed{{.listen = {"127.0.0.1", 0}, .address = {}, .state_file = {}}};
    net::DhtDirectory directory{
        {.run = {}, .seeds = {Endpoint{"127.0.0.1", seed.port()}.text()}, .listen = {}},
        [](const Event&) {}};
    net::TransportOptions options;
    options.listen = Endpoint{"127.0.0.1", 0};
    net::TcpTransport transport{options, [](const Event&) {}};
    const std::uint16_t port = transport.bound_port();
    Reachability reachability{transport, directory, false};
    using Verdict = Reachability::Verdict;
    const auto judge = [&](bool is_reachable) {
        CHECK(reachability.port_to_try([] { return false; }) == port);
        return reachability.judge(is_reachable);
    };
    CHECK(judge(false) == Verdict{.port = 0, .asks_again = false});
    transport.set_listening_port(0);  // as a seat does
    CHECK(judge(false) == Verdict{.port = 0, .asks_again = false});
    CHECK(judge(true) == Verdict{.port = port, .asks_again = false});
    CHECK(judge(false) == Verdict{.port = port, .asks_again = true});
    CHECK(judge(true) == Verdict{.port = port, .asks_again = false});
    CHECK(judge(false) == Verdict{.port = port, .asks_again = true});
    CHECK(judge(false) == Verdict{.port = 0, .asks_again = false});
    CHECK(judge(true) == Verdict{.port = port, .asks_again = false});
}

}  // namespace
}  // namespace dedloc::seat
