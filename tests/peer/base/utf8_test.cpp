// UTF-8 as Unicode's table 3-7 has it.
#include "peer/base/utf8.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <string>

namespace dedloc {
namespace {

TEST_CASE("characters of each length are recognised, with what follows", "[base]") {
    for (const std::string character :
         {"a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
          "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
        CHECK(utf8_length(character) == character.size());
        CHECK(utf8_length(character + "\xff") == character.size());
        CHECK(is_utf8("x" + character + character));
    }
    CHECK(utf8_length(std::string(1, '\0')) == 1);
    CHECK(is_utf8(""));
}

TEST_CASE("anything else is no character, and no byte behind the text is read", "[base]") {
    for (const std::string bytes :
         {"", "\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x7f", "\xe0\x9f\xbf",
          "\xe1\x80", "\xed\xa0\x80", "\xef\xbf\xc0", "\xf0\x8f\xbf\xbf", "\xf1\x80\x80", "\xf3",
          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
        // On the heap, in so many bytes: a read past them is seen by the address sanitizer.
        const auto exact = std::make_unique<char[]>(bytes.size());
        bytes.copy(exact.get(), bytes.size());
        const std::string_view text{exact.get(), bytes.size()};
        CHECK(utf8_length(text) == 0);
        CHECK(is_utf8(text) == text.empty());
    }
}

}  // namespace
}  // namespace dedloc
