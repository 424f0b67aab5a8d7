// Forms and cookies as strangers send them, and the limits of their attempts.
#include "project_server/web/form.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "project_server/accounts/throttle.hpp"

namespace dedloc::server {

TEST_CASE("forms and cookies of strangers are bounded and decoded", "[server]") {
    const auto form = Form::parse("a=1&b=%C3%A9+x&c&b=2&d=%0D%0A");
    REQUIRE(form);
    CHECK(form->value("a") == "1");
    CHECK(form->value("b") == "é x");
    CHECK(form->value("c").empty());
    CHECK(form->value("d") == "\n");
    CHECK(form->value("none").empty());
    // boinccmd sends words of a command line in the code page of Windows.
    CHECK(Form::parse("a=%CE%EB%FC%E3%E0&b=M%FCller")->value("a") == "Ольга");
    CHECK(Form::parse("a=caf%E9%01")->value("a") == "café?");
    CHECK(Form::parse(""));
    for (const char* const bad : {"a=%", "a=%1", "a=%zz", "%=1"}) CHECK_FALSE(Form::parse(bad));
    CHECK_FALSE(Form::parse(std::string(kMaxFormBytes + 1, 'a')));
    std::string many;
    for (std::size_t i = 0; i <= kMaxFormFields; ++i) many += "a=1&";
    CHECK_FALSE(Form::parse(many));
    CHECK(cookie_value("x=1; name=va=lue; y=2", "name") == "va=lue");
    CHECK(cookie_value("xname=1", "name").empty());
    CHECK(cookie_value(";;=;", "name").empty());
}

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
