#include <catch2/catch.hpp>
#include <cstring>

#include "peer/base/error.hpp"
#include "peer/base/random.hpp"
#include "peer/base/utf8.hpp"
#include "project_server/tokenizer/normaliser.hpp"

namespace dedloc::tokenizer {
namespace {

using namespace huggingface;

std::string normalised(const NormaliserStep& step, const std::string& text) {
    return Normaliser{{step}}.apply(text);
}

TEST_CASE("each step of a normaliser does what its name says", "[server]") {
    CHECK(normalised(Replace{"``", "\""}, "``a```") == "\"a\"`");
    CHECK(normalised(ReplaceBlanks{"_"}, "a b  c   ") == "a b_c_");
    CHECK(normalised(StripAccents{}, "e\u0301\u0903\u20dd") == "e");
    CHECK(normalised(Strip{.left = true, .right = false}, "\u00a0 a ") == "a ");
    CHECK(normalised(Strip{.left = false, .right = true}, " a\u3000") == " a");
    using Form = UnicodeForm::Form;
    CHECK(normalised(UnicodeForm{Form::kNfkd}, "\u00e9\ufb01\uac01") ==
          "e\u0301fi\u1100\u1161\u11a8");
    CHECK(normalised(UnicodeForm{Form::kNfd}, "\u00e9\ufb01") == "e\u0301\ufb01");
    CHECK(normalised(UnicodeForm{Form::kNfc}, "e\u0301\ufb01") == "\u00e9\ufb01");
    CHECK(normalised(UnicodeForm{Form::kNfkc}, "e\u0301\ufb01") == "\u00e9fi");
}

TEST_CASE("lower case is that of each character alone", "[server]") {
    CHECK(normalised(Lowercase{}, "\u0130I\u03a3") == "i\u0307i\u03c3");  // no final sigma
    CHECK(normalised(Lowercase{}, "\u1e9e\u00df") == "\u00df\u00df");
}

TEST_CASE("characters that the library does not know stay as they are", "[server]") {
    // A mark of Unicode 11, a sign that Unicode 14 decomposes, and marks that are letters today.
    CHECK(normalised(StripAccents{}, "a\u07fd\u1cf2\u1cf3\U000111c9") == "a\u07fd\U000111c9");
    CHECK(normalised(UnicodeForm{UnicodeForm::Form::kNfkd}, "\ua7f2") == "\ua7f2");
}

TEST_CASE("a damaged table of characters is refused or harmless", "[server]") {
    for (const char* table : {"", "abc", "\x08"}) {
        CHECK_THROWS_AS(normalised(Precompiled{table}, "a"), InputError);
    }
    const std::string zero(4, '\0');
    CHECK_THROWS_AS(normalised(Precompiled{zero}, "a"), InputError);
    Random random{1};
    for (int i = 0; i < 2'000; ++i) {
        std::string table(4 + 4 * (1 + random.below(64)) + random.below(32), '\0');
        const auto bytes = static_cast<std::uint32_t>((table.size() - 4) / 4 * 4);
        std::memcpy(table.data(), &bytes, sizeof(bytes));
        for (std::size_t j = 4; j < table.size(); ++j) {
            table[j] = static_cast<char>(random.below(256));
        }
        const Normaliser normaliser{{Precompiled{table}}};
        for (const char* text : {"abc", "\u00e9", "e\u0301\r\n", "\U0001f1e9\U0001f1ea"}) {
            (void)normaliser.apply(text);
        }
    }
}

}  // namespace
}  // namespace dedloc::tokenizer
