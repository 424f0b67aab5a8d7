#include "project_server/email_address.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "project_server/accounts/account_request.hpp"
#include "project_server/accounts/passwords.hpp"
#include "project_server/publishing/keys.hpp"
#include "tests/project_server/accounts/look_alikes.hpp"

namespace dedloc::server {

using Catch::Contains;

TEST_CASE("an address is stored as BOINC's clients write it before they hash", "[server]") {
    CHECK(clean_email(" \tALICE@Example.ORG\r\n") == "alice@example.org");
    // Their tolower() in the locale C leaves all bytes beyond ASCII as they are.
    CHECK(clean_email("Jos\u00C9@Example.org") == "jos\u00C9@example.org");
    CHECK(clean_email("\u0130\u212A@x.org") == "\u0130\u212A@x.org");
    CHECK(clean_email("a b@x.org") == "a b@x.org");
    CHECK(clean_email(std::string{"a\0@x.org", 8}) == "a?@x.org");
    CHECK(clean_email("") == "");
    CHECK(clean_email(" \n ") == "");
    CHECK(boinc_password_hash("pw", "Jos\u00C9@Example.org") ==
          md5_of_text("pwjos\u00C9@example.org"));
}

TEST_CASE("a new account gets an address that the mailer delivers to", "[server]") {
    for (const std::string good :
         {"alice@example.org", "a@b.co", "o'brien+boinc@mail.example.co.uk", "a.b-c_d@1x.example",
          "1@2.example", "a@xn--bcher-kva.example", "{a}~b=c$d*e^f-@example.museum"}) {
        INFO(good);
        CHECK(email_fault(good).value_or("") == "");
        CHECK(is_mail_address(good));
    }
    const std::string label(63, 'd');
    CHECK_FALSE(email_fault(std::string(64, 'a') + "@example.org"));
    CHECK(email_fault(std::string(65, 'a') + "@example.org"));
    CHECK_FALSE(email_fault("a@" + label + ".org"));
    CHECK(email_fault("a@" + label + "d.org"));
    const std::string longest =
        std::string(64, 'a') + '@' + label + '.' + label + '.' + std::string(61, 'e');
    CHECK(longest.size() == kMaxEmail);
    CHECK_FALSE(email_fault(longest));
    CHECK(is_mail_address(longest));
    CHECK(email_fault(longest + 'e'));
    CHECK_FALSE(is_mail_address(longest + 'e'));
}

TEST_CASE("other addresses are refused with a sentence", "[server]") {
    for (const std::string bad : {"",
                                  "@",
                                  "alice",
                                  "alice@",
                                  "@example.org",
                                  "alice@localhost",
                                  "alice@192.0.2.1",
                                  "alice@[192.0.2.1]",
                                  "alice@example.org.",
                                  "alice@.example.org",
                                  "alice@example..org",
                                  "alice@-example.org",
                                  "alice@example-.org",
                                  "alice@exam_ple.org",
                                  ".alice@example.org",
                                  "alice.@example.org",
                                  "al..ice@example.org",
                                  "-alice@example.org",
                                  "al ice@example.org",
                                  "\"alice\"@example.org",
                                  "alice(c)@example.org",
                                  "alice@example.org(c)",
                                  "Alice <alice@example.org>",
                                  "alice@b@example.org",
                                  "alice@example.org,eve@example.org",
                                  "alice%example.net@example.org",
                                  "example.net!alice@example.org",
                                  "|cat@example.org",
                                  "/etc/passwd@example.org",
                                  "alice`id`@example.org",
                                  "alice@example.org\r\nBcc: e@x.org",
                                  "alice\t@example.org",
                                  "alice\u200B@example.org",
                                  "jos\u00E9@example.org",
                                  "alice@b\u00FCcher.example",
                                  "alice\uFF20example.org",
                                  "alice\x7F@example.org",
                                  "alice\\@example.org",
                                  "alice;@example.org",
                                  "alice:x@example.org"}) {
        INFO(bad);
        const auto fault = email_fault(bad);
        REQUIRE(fault);
        CHECK(fault->ends_with('.'));
        CHECK_THAT(fault_of({.email = bad, .password_hash = std::string(32, '0'), .name = "n"})
                       .value_or(""),
                   Contains("<error_num>-205</error_num>"));
    }
    CHECK_THAT(email_fault("jos\u00E9@example.org").value_or(""), Contains("ASCII"));
}

TEST_CASE("what a new account may have as its address, the mailer takes", "[server][property]") {
    int taken = 0;
    for (const auto& typed : look_alikes({"alice@example.org", "a.b@c.example"}, 5'000, 42)) {
        const std::string clean = clean_email(typed);
        INFO(typed);
        CHECK(clean_email(clean) == clean);
        if (email_fault(clean)) continue;
        ++taken;
        CHECK(is_mail_address(clean));
        CHECK(clean.find_first_of("\r\n<>,;:\" ") == clean.npos);
    }
    CHECK(taken > 50);
}

}  // namespace dedloc::server
