#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "peer/base/bytes.hpp"
#include "peer/base/sha256.hpp"
#include "peer/base/text.hpp"
#include "peer/base/utc_text.hpp"

using namespace dedloc;

TEST_CASE("blanks around a text are cut off", "[base]") {
    CHECK(trimmed("").empty());
    CHECK(trimmed(" \t\r\n ").empty());
    CHECK(trimmed("a") == "a");
    CHECK(trimmed("\r\n a b\t") == "a b");
    CHECK(trimmed("\v a \f") == "\v a \f");
    CHECK(trimmed("\v a \f", " \v\f") == "a");
}

TEST_CASE("a percent sign and two hex digits stand for a byte", "[base]") {
    CHECK(percent_decoded("") == "");
    CHECK(percent_decoded("a%20b%2Fc%2f+") == "a b/c/+");
    CHECK(percent_decoded("%00%ff%25") == std::string("\0\xFF%", 3));
    for (const char* const bad :
         {"%", "%4", "a%4", "%4g", "%g4", "%+1", "%-1", "% 1", "%%", "%0x1"}) {
        CHECK_FALSE(percent_decoded(bad));
    }
    CHECK(percent_encoded("", "") == "");
    CHECK(percent_encoded("a b~%+\xFF\n", "~") == "a%20b~%25%2B%FF%0A");
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
    CHECK(percent_decoded(percent_encoded(all, "")) == all);
}

TEST_CASE("a word has letters and digits of ASCII alone", "[base]") {
    CHECK(is_made_of_letters("aZ09", ""));
    CHECK(is_made_of_letters("a-b.c", ".-"));
    for (const char* const bad : {"", "a b", "a\n", "\xC3\xA9", "a_b"}) {
        CHECK_FALSE(is_made_of_letters(bad, ".-"));
    }
    CHECK_FALSE(is_made_of_letters(std::string_view("a\0", 2), ".-"));
}

TEST_CASE("a number is the whole text, and fits", "[base]") {
    CHECK(parse_number<std::uint16_t>("65535") == 65'535);
    CHECK(parse_number<std::uint16_t>("007") == 7);
    CHECK(parse_number<std::int64_t>("-9223372036854775808") ==
          std::numeric_limits<std::int64_t>::min());
    CHECK(parse_number<double>("-2.5e3") == -2'500.0);
    for (const char* const bad :
         {"", " 1", "1 ", "+1", "-1", "1.0", "0x1", "1\n", "65536", "99999999999999999999", "a"}) {
        CAPTURE(bad);
        CHECK_FALSE(parse_number<std::uint16_t>(bad));
    }
    CHECK_FALSE(parse_number<std::uint16_t>(std::string_view("1\0", 2)));
    CHECK_FALSE(parse_number<std::int64_t>("9223372036854775808"));
}

TEST_CASE("an address has a host and a port, with brackets around a host with colons", "[base]") {
    const auto split = [](std::string_view text) {
        const auto parts = split_host_and_port(text);
        return parts ? parts->host + " " + std::to_string(parts->port) : std::string{"nothing"};
    };
    CHECK(split("a:80") == "a 80");
    CHECK(split("127.0.0.1:0") == "127.0.0.1 0");
    CHECK(split("[::1]:65535") == "::1 65535");
    CHECK(split("[2001:db8::1]:1") == "2001:db8::1 1");
    for (const char* const bad : {"",
                                  ":",
                                  "a",
                                  "a:",
                                  ":80",
                                  "a:65536",
                                  "a:-1",
                                  "a:+1",
                                  "a:8 ",
                                  "a: 8",
                                  "::1:80",
                                  "[::1]",
                                  "[::1]:",
                                  "[::1:80",
                                  "::1]:80",
                                  "[a]:80",
                                  "[127.0.0.1]:80",
                                  "[]:80",
                                  "[:80",
                                  "]:80",
                                  "[::1]x:80",
                                  "x[::1]:80",
                                  "a:b:80",
                                  "http://a:80"}) {
        CAPTURE(bad);
        CHECK(split(bad) == "nothing");
    }
}

TEST_CASE("a time is written in UTC and in English", "[base]") {
    CHECK(utc_text(0) == "1970-01-01 00:00:00");
    CHECK(utc_text(1'795'975'500) == "2026-11-29 18:05:00");
    CHECK(utc_text(1'795'975'500, kMailDate) == "Sun, 29 Nov 2026 18:05:00");
    CHECK(utc_text(-1, "%Y-%m-%dT%H:%M:%SZ") == "1969-12-31T23:59:59Z");
    CHECK(utc_text(1'795'975'500, "%Y%m%d-%H%M%S") == "20261129-180500");
    // Years of more than four digits, from a clock that is wrong.
    CHECK(utc_text(100'000'000'000, "%Y-%m-%d") == "5138-11-16");
}

TEST_CASE("base64 is that of RFC 4648", "[base]") {
    for (const auto& [bytes, text] :
         {std::pair{"", ""}, std::pair{"f", "Zg=="}, std::pair{"fo", "Zm8="},
          std::pair{"foo", "Zm9v"}, std::pair{"foobar", "Zm9vYmFy"}}) {
        CHECK(to_base64(bytes_of(bytes)) == text);
        CHECK(from_base64(text) == bytes);
    }
    CHECK(to_base64(bytes_of("\xFB\xFF")) == "+/8=");
    for (const char* const bad :
         {"Z", "Zg", "Zg=", "Zg==Zg==", "Zm9v\n", "Zm 9v", "-_8=", "Zm9v="}) {
        CHECK_FALSE(from_base64(bad));
    }
}

TEST_CASE("SHA-256 is that of FIPS 180-4, whatever the pieces", "[base]") {
    CHECK(Sha256{}.hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    Sha256 digest;
    for (const char* const piece : {"a", "", "bc"}) digest.update(bytes_of(piece));
    CHECK(digest.hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
