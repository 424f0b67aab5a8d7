// Which connection is evicted when all places are taken.
#include "peer/net/tcp/address_groups.hpp"

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>

namespace dedloc::net {
namespace {

constexpr std::size_t kPlaces = 256;

/// Client number `i` of an attacker that has these networks, /32 and /64 or IPv4.
std::string attacker(std::size_t i, std::size_t networks, bool is_v6) {
    const std::string network = std::to_string(10 + i % networks);
    if (is_v6) return "2a" + network + ":1::" + std::to_string(i / networks % 9'999) + ":0:0:0:1";
    return network + "." + std::to_string(i / networks / 250 % 250) + ".7." +
           std::to_string(i / networks % 250);
}

/// Arrivals of a flood that a connection from `host` survives, at most `count`.
std::size_t survived(const std::string& host, std::size_t count, std::uint64_t seed,
                     const std::function<std::string(std::size_t)>& flood) {
    AddressGroups groups;
    Random random{seed};
    std::size_t next = 0;
    for (; next < kPlaces - 1; ++next) groups.add(next, flood(next));
    constexpr AddressGroups::Number kHonest = 1'000'000;
    groups.add(kHonest, host);
    for (const std::size_t first = next; next < first + count; ++next) {
        const AddressGroups::Number evicted = groups.victim(random).value().number;
        if (evicted == kHonest) return next - first;
        groups.remove(evicted);
        groups.add(next, flood(next));
    }
    return count;
}

TEST_CASE("a random connection of the networks that hold most is evicted", "[net]") {
    AddressGroups groups;
    Random random{1};
    CHECK_FALSE(groups.victim(random));
    CHECK_FALSE(groups.oldest_of("192.0.2.1"));
    // The first wide network has one client with three connections, the second four clients.
    for (const AddressGroups::Number number : {1U, 2U, 3U}) groups.add(number, "192.0.2.1");
    groups.add(4, "198.51.1.1");
    groups.add(5, "198.51.2.1");
    groups.add(6, "198.51.2.2");
    groups.add(7, "198.51.2.2");
    std::set<AddressGroups::Number> evicted;
    for (int i = 0; i < 100; ++i) {
        const auto victim = groups.victim(random);
        REQUIRE(victim);
        CHECK(victim->neighbours == 4);
        evicted.insert(victim->number);
    }
    CHECK(evicted == std::set<AddressGroups::Number>{6, 7});
    groups.remove(6);
    groups.remove(6);
    groups.remove(7);
    CHECK(groups.victim(random).value().neighbours == 3);
    CHECK(groups.size() == 5);
    CHECK(groups.size_of("192.0.2.1") == 3);
    CHECK(groups.size_of("198.51.2.2") == 0);
    CHECK(groups.oldest_of("192.0.2.1") == 1U);
}

TEST_CASE("connections are grouped by IPv4 address or IPv6 network", "[net]") {
    AddressGroups groups;
    groups.add(1, "192.0.2.1");
    groups.add(2, "2001:db8::1");
    CHECK(groups.size_of("::ffff:192.0.2.1") == 1);
    CHECK(groups.size_of("192.0.2.2") == 0);
    CHECK(groups.size_of("2001:db8:0:0:ffff::2") == 1);
    CHECK(groups.size_of("2001:db8:0:1::1") == 0);
}

TEST_CASE("a flood from a few networks never evicts a connection of another", "[net]") {
    const bool is_v6 = GENERATE(false, true);
    const std::size_t networks = GENERATE(1U, 4U, 60U);
    // 500 or 4,096 clients with a connection each: more than there are places.
    const std::size_t clients = GENERATE(500U, 4'096U);
    const auto flood = [&](std::size_t i) { return attacker(i % clients, networks, is_v6); };
    CHECK(survived("203.0.113.5", 20'000, 1, flood) == 20'000);
    CHECK(survived("2001:db8::5", 20'000, 1, flood) == 20'000);
}

TEST_CASE("a flood never evicts a connection of another network beside its own", "[net]") {
    // The attacker has one network of 24 bits inside the honest peer's network of 16 bits.
    const auto flood = [](std::size_t i) { return "203.0.9." + std::to_string(i % 250); };
    CHECK(survived("203.0.113.5", 20'000, 1, flood) == 20'000);
    // It has one address in the honest peer's network of 24 bits.
    CHECK(survived("203.0.113.5", 20'000, 1, [](std::size_t) { return "203.0.113.9"; }) == 20'000);
}

TEST_CASE("a flood from everywhere evicts a connection by chance only", "[net]") {
    const auto flood = [](std::size_t i) {
        return std::to_string(1 + i % 200) + "." + std::to_string(i / 200 % 200) + ".0.1";
    };
    // A round trip brings as many connections as there are places: e^-1 of the handshakes survive.
    int survivors = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        survivors += survived("203.0.113.5", kPlaces, seed, flood) == kPlaces;
    }
    CHECK(survivors > 400 / 4);
    CHECK(survivors < 400 / 2);
}

}  // namespace
}  // namespace dedloc::net
