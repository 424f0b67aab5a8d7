#include "project_server/http/address_slots.hpp"

#include <catch2/catch.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

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

using Slots = std::vector<std::shared_ptr<AddressSlots::Slot>>;

TEST_CASE("a client has its number of slots and no more", "[server]") {
    AddressSlots slots{16, 2};
    const auto first = slots.take("2001:db8::1");
    const auto second = slots.take("2001:db8::2");
    CHECK(first);
    CHECK(second);
    CHECK_FALSE(slots.take("2001:db8::3"));
    CHECK(slots.take("192.0.2.1"));
    second->leave();
    second->leave();
    CHECK(slots.take("2001:db8::3"));
}

TEST_CASE("there are no more slots than there are", "[server]") {
    AddressSlots slots{4, 4};
    Slots taken;
    for (int network = 1; network <= 4; ++network) {
        taken.push_back(slots.take("10." + std::to_string(network) + ".0.1"));
        CHECK(taken.back());
    }
    CHECK_FALSE(slots.take("10.5.0.1"));
    taken.pop_back();
    CHECK(slots.take("10.5.0.1"));
}

TEST_CASE("no slot is kept for a network while others need none", "[server]") {
    // Eight computers of a household or a laboratory behind one address.
    AddressSlots slots{128, 8};
    Slots taken;
    for (int i = 0; i < 8; ++i) {
        taken.push_back(slots.take("192.0.2.1"));
        CHECK(taken.back());
    }
}

/// Address number `i` of an attacker in `count` networks of 16 bits (IPv6: 32).
std::string attacker(std::size_t i, std::size_t count, bool is_v6) {
    const std::string network = std::to_string(10 + i % count);
    const std::size_t client = i / count;
    if (is_v6) return "2a" + network + ":1:" + std::to_string(client) + "::1";
    return network + ".1." + std::to_string(client / 250) + "." + std::to_string(client % 250);
}

TEST_CASE("a flood of a few networks leaves slots to every other network", "[server]") {
    const bool is_v6 = GENERATE(false, true);
    const std::size_t networks = GENERATE(1U, 4U, 16U);
    const std::size_t addresses = GENERATE(16U, 500U, 4'096U);
    AddressSlots slots{128, 8};
    Slots held;
    for (std::size_t i = 0; i < 8 * addresses; ++i) {
        if (auto slot = slots.take(attacker(i % addresses, networks, is_v6))) {
            held.push_back(std::move(slot));
        }
    }
    // Exactly 1/(n + 1) is free if all networks grow at the same pace.
    CHECK(128 - held.size() >= 120 / (networks + 1));
    // Newcomers from other networks, and they stay.
    for (std::size_t i = 0; i < 128 - held.size(); ++i) {
        held.push_back(slots.take("198." + std::to_string(i) + ".100.1"));
        REQUIRE(held.back());
    }
}

TEST_CASE("a flood leaves slots to the other clients of its wide network", "[server]") {
    AddressSlots slots{128, 8};
    Slots held;
    // All addresses of a network of 24 bits; the newcomers are in others of the same 16 bits.
    for (std::size_t i = 0; i < 8 * 250; ++i) {
        if (auto slot = slots.take("203.0.113." + std::to_string(i % 250))) {
            held.push_back(std::move(slot));
        }
    }
    for (int i = 0; i < 5; ++i) {
        held.push_back(slots.take("203.0." + std::to_string(i) + ".1"));
        CHECK(held.back());
    }
}

}  // namespace dedloc::server
