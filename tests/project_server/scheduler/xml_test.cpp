#include "project_server/scheduler/xml.hpp"

#include <catch2/catch.hpp>

namespace dedloc::server {

TEST_CASE("elements are found with any text between them", "[server]") {
    XmlReader reader{"text <!-- no --><a>1</a>\n<b x=\"y\"/> < </c> <d><a>2</a></d>"};
    const auto a = reader.next();
    REQUIRE(a);
    CHECK(a->name == "a");
    CHECK(a->body == "1");
    const auto b = reader.next();
    REQUIRE(b);
    CHECK(b->name == "b");
    CHECK(b->body.empty());
    CHECK(flag_value(*b));
}

TEST_CASE("a closing tag inside CDATA is ignored", "[server]") {
    const auto element = find_element("<r><e><![CDATA[</e></r> <x>]]> </e><name>n</name></r>", "r");
    REQUIRE(element);
    CHECK(find_element(element->body, "name")->body == "n");
}

TEST_CASE("CDATA sections are passed over in linear time", "[server]") {
    // Searched for the closing tag once for each section, 8 MiB take more than ten minutes.
    std::string text = "<r>";
    while (text.size() < (8u << 20)) text += "<![CDATA[]]>";
    text += "</r>";
    const auto element = find_element(text, "r");
    REQUIRE(element);
    CHECK(element->whole == text);
}

TEST_CASE("an element that is never closed ends the reader", "[server]") {
    CHECK_FALSE(XmlReader{"<a><b></b>"}.next());
    CHECK_FALSE(XmlReader{"<a"}.next());
    CHECK_FALSE(XmlReader{"<e><![CDATA[</e>"}.next());
    std::string deep;
    for (int i = 0; i < 200'000; ++i) deep += "<a>";
    CHECK_FALSE(XmlReader{deep}.next());
}

TEST_CASE("values are trimmed, unescaped, bounded and valid", "[server]") {
    CHECK(text_value("  a &lt;b&gt; &amp;amp; &#39; \n") == "a <b> &amp; &#39;");
    CHECK(text_value(std::string(300, 'x')).size() == 254);
    CHECK(text_value("\xC3\xA9\xC3\xA9", 3) == "\xC3\xA9");
    CHECK(clean_text("ab cd", 3) == "ab");
    CHECK(text_value("a\xFFz\x01") == "a?z?");
    CHECK(valid_utf8("\xED\xA0\x80") == "???");
    CHECK(valid_utf8("\xF0\x9F\x98\x80") == "\xF0\x9F\x98\x80");
    CHECK(real_value(" 1.5 ") == 1.5);
    CHECK(real_value("nan") == 0);
    CHECK(real_value("") == 0);
    CHECK(integer_value("-7") == -7);
    CHECK(escape_markup("<a href='x'>\"&") == "&lt;a href=&#39;x&#39;&gt;&quot;&amp;");
}

}  // namespace dedloc::server
