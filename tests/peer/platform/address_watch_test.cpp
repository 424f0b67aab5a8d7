#include <catch2/catch.hpp>
#include <chrono>
#include <set>
#include <string>

#include "peer/platform/address_watch.hpp"

namespace dedloc::platform {
namespace {

using namespace std::chrono_literals;

TEST_CASE("another network is noticed once it has settled, also with the same addresses",
          "[platform]") {
    std::set<std::string> networks{"192.168.1.5"};
    AddressWatch watch{[&networks] { return networks; }};
    AddressWatch::TimePoint now{};
    /// Looks five times a second for this time; how often there was a change.
    const auto look = [&](std::chrono::milliseconds time) {
        int changes = 0;
        for (const auto end = now + time; now < end; now += 200ms) {
            if (watch.has_changed(now)) ++changes;
        }
        return changes;
    };
    CHECK(look(10s) == 0);
    networks = {"10.0.0.7", "2001:db8::/64"};
    CHECK(look(4s) == 0);
    CHECK(look(2s) == 1);
    CHECK(look(60s) == 0);
    networks.clear();
    CHECK(look(60s) == 0);
    networks = {"10.0.0.7", "2001:db8::/64"};
    CHECK(look(10s) == 1);
    for (int flaps = 0; flaps < 10; ++flaps) {
        networks = {flaps % 2 == 0 ? "10.0.0.8" : "10.0.0.7"};
        CHECK(look(2s) == 0);
    }
    CHECK(look(10s) == 1);
}

TEST_CASE("this machine's networks are without loopback", "[platform]") {
    const auto networks = machine_networks();
    CHECK(networks.count("127.0.0.1") == 0);
    CHECK(networks.count("::/64") == 0);
    CHECK(networks.count("fe80::/64") == 0);
    CHECK(machine_networks() == networks);
}

}  // namespace
}  // namespace dedloc::platform
