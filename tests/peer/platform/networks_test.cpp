// The networks for which limits count addresses.
#include "peer/platform/networks.hpp"

#include <catch2/catch.hpp>

namespace dedloc::platform {

TEST_CASE("only numeric addresses of this machine are loopback", "[platform]") {
    for (const char* const host : {"127.0.0.1", "127.255.255.254", "::1", "0:0:0:0:0:0:0:1"}) {
        CHECK(is_loopback_host(host));
    }
    for (const char* const host :
         {"", "localhost", "127.1", "127.evil.example.org", "128.0.0.1", "126.255.255.255",
          "::", "::2", "[::1]", "127.0.0.1:80", "0.0.0.0", "fe80::1"}) {
        INFO(host);
        CHECK_FALSE(is_loopback_host(host));
    }
}

TEST_CASE("a public address has a network of 24 or 48 bits, however it is written", "[platform]") {
    for (const char* const address :
         {"203.0.113.0", "203.0.113.255", "::ffff:203.0.113.7", "0:0:0:0:0:ffff:cb00:7107"}) {
        CHECK(public_network(address) == "203.0.113.0/24");
    }
    for (const char* const address :
         {"2001:db8:1::", "2001:0DB8:0001:ffff::1", "2001:db8:1:2:3:4:5:6"}) {
        CHECK(public_network(address) == "2001:db8:1::/48");
    }
    CHECK(public_network("203.0.112.255") == "203.0.112.0/24");
    CHECK(public_network("2001:db8:2::1") == "2001:db8:2::/48");
    // Neighbours of the blocks that are not public.
    for (const char* const address :
         {"1.0.0.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.0.0.1",
          "128.0.0.1", "169.253.1.1", "172.15.0.1", "172.32.0.1", "192.167.0.1", "192.169.0.1"}) {
        INFO(address);
        CHECK_FALSE(public_network(address).empty());
    }
}

TEST_CASE("an address that no client on the internet has belongs to no public network",
          "[platform]") {
    for (const char* const address : {"0.0.0.0",
                                      "10.0.0.1",
                                      "10.255.255.255",
                                      "100.64.0.0",
                                      "100.127.255.255",
                                      "127.0.0.1",
                                      "127.255.0.1",
                                      "169.254.0.1",
                                      "172.16.0.0",
                                      "172.31.255.255",
                                      "192.168.1.1",
                                      "::",
                                      "::1",
                                      "::ffff:127.0.0.1",
                                      "::ffff:192.168.1.1",
                                      "fe80::1",
                                      "febf::1",
                                      "fc00::1",
                                      "fdff::1",
                                      "fec0::1",
                                      "",
                                      "localhost",
                                      "203.0.113",
                                      "203.0.113.7 ",
                                      "2001:db8::1%eth0"}) {
        INFO(address);
        CHECK(public_network(address).empty());
    }
}

}  // namespace dedloc::platform
