#include <catch2/catch.hpp>

#include "peer/base/error.hpp"
#include "project_server/tokenizer/regex.hpp"

namespace dedloc::tokenizer {
namespace {

TEST_CASE("matches come from left to right, empty ones too", "[server]") {
    using Spans = std::vector<Span>;
    CHECK(Regex{"b+"}.matches("abbab") == Spans{{1, 3}, {4, 5}});
    CHECK(Regex{"b*"}.matches("abb") == Spans{{0, 0}, {1, 3}});
    CHECK(Regex{"(?<=\\u09a6):"}.matches("\u09a6:a:") == Spans{{3, 4}});
    CHECK(Regex{"x"}.matches("") == Spans{});
    CHECK(Regex{""}.matches("\u00e9") == Spans{{0, 0}, {2, 2}});
}

TEST_CASE("an expression that is none is refused in one sentence", "[server]") {
    for (const char* const pattern : {"(", "[a", "*", "(?<=a*b", "\\p{Nothing}"}) {
        CAPTURE(pattern);
        CHECK_THROWS_WITH(Regex{pattern}, Catch::Contains("cannot be used: "));
    }
    CHECK_THROWS_WITH(Regex{std::string(2'000, 'a')}, Catch::Contains("too long"));
    CHECK_THROWS_AS(Regex{std::string(400, '(') + std::string(400, ')')}, InputError);
}

TEST_CASE("an expression that backtracks without end gives up", "[server]") {
    const std::string text = std::string(4'998, 'a') + "!b";
    for (const char* const pattern :
         {"(a+)+[bc]", "(a*)*[bc]", "(a|aa)+[bc]", "(a|a)*[bc]", "(?:a*)*(?:a*)*(?:a*)*[bc]"}) {
        CAPTURE(pattern);
        CHECK_THROWS_WITH(Regex{pattern}.matches(text),
                          Catch::Contains("gives up in a text of 5000"));
    }
}

TEST_CASE("expressions of a few bytes do not become large", "[server]") {
    for (const char* const pattern :
         {"((((a{100}){100}){100}){100}){100}", "(?:(?:(?:a{0,9999}){9999}){9999}){9999}",
          "(?i)(?<=\\p{L}{1,20})\u00df{50}", "(?<a>x\\g<a>?y){90}",
          "\\A(?:a|b|c|d){0,100000}\\z"}) {
        CAPTURE(pattern);
        try {
            (void)Regex{pattern}.matches("aaaabbbb");
        } catch (const InputError&) {
        }
    }
}

}  // namespace
}  // namespace dedloc::tokenizer
