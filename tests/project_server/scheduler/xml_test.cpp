#include "project_server/xml/xml.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "peer/base/markup.hpp"

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

TEST_CASE("comments and CDATA between elements have no elements", "[server]") {
    XmlReader reader{
        "<!-- <a>1</a> <b> --><![CDATA[<a>2</a>]]><!DOCTYPE x><e><!--</e>--><f>3</f></e><a>4</a>"};
    const auto e = reader.next();
    REQUIRE(e);
    CHECK(e->name == "e");
    CHECK(find_element(e->body, "f")->body == "3");
    CHECK(reader.next()->body == "4");
    CHECK_FALSE(reader.next());
    CHECK_FALSE(XmlReader{"<!-- <a>1</a>"}.next());
    CHECK_FALSE(XmlReader{"<e><!-- </e>"}.next());
    CHECK(XmlReader{"<e><! </e>"}.next()->body == "<! ");
}

TEST_CASE("escapes are resolved as BOINC's programs write them", "[server]") {
    // A client writes each byte of a character that is not ASCII as a number.
    CHECK(text_value("caf&#195;&#169;") == "caf\xC3\xA9");
    CHECK(text_value("it&#39;s") == "it's");
    CHECK(text_value("a&#195;b &#1;") == "a?b ?");
    for (const char* const none : {"&#;", "&#0;", "&#256;", "&#8364;", "&#x27;", "&#-1;", "&#39",
                                   "&#", "&nbsp;", "&", "& lt;"}) {
        CHECK(text_value(none) == none);
    }
    const std::string hostile = "<a b=\"c\">'&amp;&#39;\xC3\xA9]]>";
    CHECK(text_value(escape_markup(hostile)) == hostile);
}

TEST_CASE("CDATA sections and comments are passed over in linear time", "[server]") {
    // Searched for the closing tag once for each section, 8 MiB take more than ten minutes.
    for (const char* const section : {"<![CDATA[]]>", "<!---->", "<!x"}) {
        std::string text = "<r>";
        while (text.size() < (8u << 20)) text += section;
        text += "</r>";
        const auto element = find_element(text, "r");
        REQUIRE(element);
        CHECK(element->whole == text);
    }
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
    CHECK(text_value("  a &lt;b&gt; &amp;amp; &apos;&quot; \n") == "a <b> &amp; '\"");
    CHECK(text_value(std::string(300, 'x')).size() == 254);
    CHECK(text_value("\xC3\xA9\xC3\xA9", 3) == "\xC3\xA9");
    CHECK(clean_text("ab cd", 3) == "ab");
    CHECK(text_value("a\xFFz\x01") == "a?z?");
    CHECK(real_value(" 1.5 ") == 1.5);
    CHECK(real_value("nan") == 0);
    CHECK(real_value("") == 0);
    CHECK(integer_value("-7") == -7);
}

}  // namespace dedloc::server
