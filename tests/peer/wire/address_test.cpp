#include "peer/wire/address.hpp"

#include <arpa/inet.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "peer/base/random.hpp"

using namespace dedloc;
using namespace dedloc::wire;

TEST_CASE("an address is numeric exactly if inet_pton accepts it", "[wire][property]") {
    const auto expected = [](const std::string& text) {
        std::array<std::uint8_t, 16> out{};
        return inet_pton(AF_INET, text.c_str(), out.data()) == 1 ||
               inet_pton(AF_INET6, text.c_str(), out.data()) == 1;
    };
    for (const char* text : {"0.0.0.0",
                             "255.255.255.255",
                             "256.0.0.1",
                             "1.2.3",
                             "1.2.3.4.5",
                             "01.2.3.4",
                             "1.2.3.4 ",
                             "::",
                             "::1",
                             "1::",
                             "1:2:3:4:5:6:7:8",
                             "1:2:3:4:5:6:7",
                             "1:2:3:4:5:6:7::",
                             "::2:3:4:5:6:7:8",
                             "1::3:4:5:6:7:8",
                             "1:2:3:4:5:6:7:8:9",
                             ":::",
                             "1::2::3",
                             ":1",
                             "1:",
                             "12345::",
                             "::ffff:1.2.3.4",
                             "::1.2.3.4",
                             "1.2.3.4::",
                             "1:2:3:4:5:6:1.2.3.4",
                             "1:2:3:4:5:6:7:1.2.3.4",
                             "::1.2.3",
                             "fe80::1%eth0",
                             "",
                             "localhost",
                             "::g",
                             "::1.2.3.4:5"}) {
        INFO("'" << text << "'");
        REQUIRE(is_numeric_address(text) == expected(text));
    }
    Random random{8};
    constexpr std::string_view kAlphabet = "01259af:::..";
    for (int i = 0; i < 200'000; ++i) {
        std::string text(random.below(18), ' ');
        for (char& c : text) c = kAlphabet[random.below(kAlphabet.size())];
        INFO("'" << text << "'");
        REQUIRE(is_numeric_address(text) == expected(text));
    }
}
