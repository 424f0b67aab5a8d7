#include "project_server/web/address_slots.hpp"

#include <catch2/catch.hpp>

#include "peer/platform/networks.hpp"

namespace dedloc::server {

TEST_CASE("a client is an IPv4 address or an IPv6 network of 64 bits", "[server]") {
    using platform::client_network;
    CHECK(client_network("192.0.2.1") == "192.0.2.1");
    CHECK(client_network("::ffff:192.0.2.1") == "192.0.2.1");
    CHECK(client_network("2001:db8::1") == "2001:db8::/64");
    CHECK(client_network("2001:db8:0:0:ffff::7") == "2001:db8::/64");
    CHECK(client_network("2001:db8:0:1::7") == "2001:db8:0:1::/64");
    CHECK(client_network("nonsense::x") == "nonsense::x");
    CHECK(client_network("").empty());
}

TEST_CASE("a client has its number of slots and no more", "[server]") {
    AddressSlots slots{4, 2};
    const auto first = slots.take("2001:db8::1");
    const auto second = slots.take("2001:db8::2");
    CHECK(first);
    CHECK(second);
    CHECK_FALSE(slots.take("2001:db8::3"));
    const auto third = slots.take("192.0.2.1");
    const auto fourth = slots.take("2001:db8:0:1::1");
    CHECK(third);
    CHECK(fourth);
    CHECK_FALSE(slots.take("192.0.2.2"));
    second->leave();
    second->leave();
    CHECK(slots.take("2001:db8::3"));
    third->leave();
    CHECK(slots.take("192.0.2.2"));
}

}  // namespace dedloc::server
