// URLs from settings, command lines and strangers.
#include "project_server/url.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "peer/base/error.hpp"

using namespace dedloc;
using namespace dedloc::server;

TEST_CASE("a URL has parts, of which most may be absent", "[server]") {
    CHECK(parse_url("http://a").value() == Url{.scheme = "http", .host = "a"});
    CHECK(parse_url("https://Train.example.org:8443/b//").value() ==
          Url{.scheme = "https", .host = "Train.example.org", .port = 8'443, .path = "/b//"});
    CHECK(parse_url("X-y://u:p@h:1/p/../%41?q=%41&r#f").value() == Url{.scheme = "x-y",
                                                                       .user = "u",
                                                                       .password = "p",
                                                                       .host = "h",
                                                                       .port = 1,
                                                                       .path = "/p/../%41",
                                                                       .query = "q=%41&r",
                                                                       .fragment = "f"});
    CHECK(parse_url("http://u:@h/").value().password == "");
    CHECK(parse_url("http://[2001:db8::1]:80/").value().host == "[2001:db8::1]");
    CHECK(parse_url("http://a:0/").value().port == 0);
    CHECK(parse_url("http://a:65535/").value().port == 65'535);
}

TEST_CASE("parts are put together again, and a folder has no slash at its end", "[server]") {
    const Url url = parse_url("http://u@h:8080/a/b//?q").value();
    CHECK(url.authority() == "h:8080");
    CHECK(url.origin() == "http://h:8080");
    CHECK(url.folder() == "/a/b");
    CHECK(parse_url("http://[::1]/").value().origin() == "http://[::1]");
    CHECK(parse_url("http://h").value().folder().empty());
    CHECK(parse_url("http://h/").value().folder().empty());
    CHECK(parse_url("http://h?/a").value().folder().empty());
}

TEST_CASE("a text that is not a URL is refused with a reason, also what libcurl would repair",
          "[server]") {
    for (const std::string& text : {std::string{},
                                    std::string{"a"},
                                    std::string{"/a"},
                                    std::string{"//a/"},
                                    std::string{"://a/"},
                                    std::string{"http:a"},
                                    std::string{"http:/a"},
                                    std::string{"http:///a"},
                                    std::string{"http://"},
                                    std::string{"http:///"},
                                    std::string{"http://?q"},
                                    std::string{"http://#f"},
                                    std::string{"http://:80/"},
                                    std::string{"http://u@/"},
                                    std::string{"javascript:alert(1)"},
                                    std::string{"mailto:a@b"},
                                    std::string{" http://a/"},
                                    std::string{"http://a b/"},
                                    std::string{"http://a/b c"},
                                    std::string{"http://a/?b c"},
                                    std::string{"http://a/\n"},
                                    std::string{"http://a\r\nHost: b/"},
                                    std::string{"http://a/\0b", 11},
                                    std::string{"http://a\0b/", 11},
                                    std::string{"http://a%00b/"},
                                    std::string{"http://a\\b/"},
                                    std::string{"http://a;b/"},
                                    std::string{"http://a:/"},
                                    std::string{"http://a:-1/"},
                                    std::string{"http://a:+1/"},
                                    std::string{"http://a:x/"},
                                    std::string{"http://a:80x/"},
                                    std::string{"http://a:65536/"},
                                    std::string{"http://a:18446744073709551617/"},
                                    std::string{"http://[::1/"},
                                    std::string{"http://[::1]x/"},
                                    std::string{"http://[::1]:/"},
                                    std::string{"http://[1.2.3.4]/"},
                                    std::string{"http://[fe80::1%25eth0]/"},
                                    std::string{"http://[fe80::1%eth0]/"},
                                    "http://a/" + std::string(9'000'000, 'b')}) {
        CAPTURE(text.substr(0, 100));
        const auto url = parse_url(text);
        REQUIRE_FALSE(url);
        CHECK_FALSE(url.reason().empty());
    }
    CHECK_THROWS_WITH(required_url("http:/a", "the setting"),
                      Catch::StartsWith("the setting: \"http:/a\" is not a URL: "));
}

TEST_CASE("a host is compared as it is dialled", "[server]") {
    // Forms of 127.0.0.1, and of example that a filter by text would let pass.
    for (const char* const text : {"http://127.1/", "http://0x7f.1/", "http://2130706433/"}) {
        CHECK(parse_url(text).value().host == "127.0.0.1");
    }
    CHECK(parse_url("http://ex%61mple/").value().host == "example");
    CHECK(parse_url("http://a@b@c/").has_value() == false);
    CHECK(parse_url("http://trusted@evil/").value().host == "evil");
    CHECK(parse_url("http://evil#@trusted/").value().host == "evil");
    CHECK(parse_url("http://evil?@trusted/").value().host == "evil");
}
