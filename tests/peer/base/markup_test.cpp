// What strangers send, in XML and HTML.
#include "peer/base/markup.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace dedloc {
namespace {

TEST_CASE("text is valid whatever bytes it had", "[base]") {
    CHECK(valid_text("") == "");
    CHECK(valid_text("a\tb\r\nc \x7f \xC3\xA9 \xF0\x9F\x98\x80") ==
          "a\tb\r\nc \x7f \xC3\xA9 \xF0\x9F\x98\x80");
    // Control characters, a lone byte, a surrogate, a cut character: one '?' for each byte.
    CHECK(valid_text(std::string{"\0\x01\x1f\x0b", 4}) == "????");
    CHECK(valid_text("a\xFFz") == "a?z");
    CHECK(valid_text("\xED\xA0\x80") == "???");
    CHECK(valid_text("\xE2\x82") == "??");
    // UTF-8, but no XML: one of them in a name breaks the statistics of all users.
    CHECK(valid_text("\xEF\xBF\xBD\xEF\xBF\xBE\xEF\xBF\xBF!") ==
          "\xEF\xBF\xBD?"
          "?!");
}

TEST_CASE("escaped text has no markup, and is valid", "[base]") {
    CHECK(escape_markup("<a href='x'>\"&") == "&lt;a href=&#39;x&#39;&gt;&quot;&amp;");
    CHECK(escape_markup("&lt;") == "&amp;lt;");
    CHECK(escape_markup("]]><!--\xC3\xA9\x02\xFF") == "]]&gt;&lt;!--\xC3\xA9??");
}

}  // namespace
}  // namespace dedloc
