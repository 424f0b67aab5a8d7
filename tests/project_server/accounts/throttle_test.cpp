#include "project_server/accounts/throttle.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace dedloc::server {

TEST_CASE("failures are counted by account, by address and by both", "[server]") {
    Throttle throttle{kSignInLimits};
    const auto now = Throttle::Clock::now();
    for (int i = 0; i < kSignInLimits.pair; ++i) {
        CHECK(throttle.allows(address_subject("a@x.org"), "192.0.2.1", now));
        throttle.count(address_subject("A@x.org "), "192.0.2.1", now);
    }
    CHECK_FALSE(throttle.allows(address_subject("a@x.org"), "192.0.2.1", now));
    CHECK(throttle.allows(address_subject("a@x.org"), "192.0.2.1", now + kSignInLimits.window));
    CHECK(throttle.allows(address_subject("b@x.org"), "192.0.2.1", now));
    CHECK(throttle.allows(account_subject(1), "192.0.2.1", now));
    CHECK(throttle.allows(address_subject("a@x.org"), "192.0.2.99", now));  // the owner, elsewhere
    // What is too long for an account keeps no more than that in memory.
    CHECK(address_subject(std::string(100'000, 'x')).size() < 300);
    for (int i = 0; i < kSignInLimits.address; ++i) {
        throttle.count("u" + std::to_string(i), "2001:db8:1:2::" + std::to_string(i), now);
    }
    CHECK_FALSE(throttle.allows("new@x.org", "2001:db8:1:2:ffff::1", now));
    CHECK(throttle.allows("new@x.org", "2001:db8:1:3::1", now));
    // However the address is written.
    CHECK_FALSE(throttle.allows("new@x.org", "2001:0db8:1:2:0:0:0:9", now));
    for (int i = 0; i < kSignInLimits.address; ++i) {
        throttle.count("v" + std::to_string(i), "2001:db8::" + std::to_string(i), now);
    }
    CHECK_FALSE(throttle.allows("new@x.org", "2001:db8::ffff", now));
    CHECK(throttle.allows("new@x.org", "2001:db8:0:1::ffff", now));
}

TEST_CASE("guesses from many addresses do not lock an owner out", "[server]") {
    Throttle throttle{kSignInLimits};
    const auto now = Throttle::Clock::now();
    throttle.signed_in("a@x.org", "2001:db8:1:2::3", now);
    for (int i = 0; i < kSignInLimits.account; ++i) {
        const std::string address = "192.0.2." + std::to_string(i);
        CHECK(throttle.allows("a@x.org", address, now));
        throttle.count("a@x.org", address, now);
    }
    CHECK_FALSE(throttle.allows("a@x.org", "198.51.100.1", now));
    CHECK(throttle.allows("b@x.org", "198.51.100.1", now));
    // From where the owner has signed in: ten failures more, and a right password forgets them.
    const std::string home = "2001:db8:1:2::4";
    for (int i = 1; i < kSignInLimits.pair; ++i) throttle.count("a@x.org", home, now);
    CHECK(throttle.allows("a@x.org", home, now));
    throttle.signed_in("a@x.org", home, now);
    throttle.count("a@x.org", home, now);
    CHECK(throttle.allows("a@x.org", home, now));
    throttle.forgive("a@x.org");
    CHECK(throttle.allows("a@x.org", "198.51.100.1", now));
    CHECK(throttle.allows("a@x.org", "192.0.2.1", now));
}

}  // namespace dedloc::server
