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
    CHECK(XmlReader{"<e><! </e>"}.next()->body == "<! ");
}

TEST_CASE("escapes are resolved as BOINC's programs write them", "[server]") {
    // A client writes each byte of a character that is not ASCII as a number.
    CHECK(text_value("caf&#195;&#169;") == "caf\xC3\xA9");
    CHECK(text_value("it&#39;s") == "it's");
    CHECK(text_value("a&#195;b &#1;") == "aÃb ?");
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

TEST_CASE("an element without one of its tags is lost alone", "[server]") {
    const auto names = [](std::string_view text) {
        XmlReader reader{text};
        std::string found;
        while (const auto element = reader.next()) found += std::string{element->name} + ' ';
        for (const std::string_view lost : reader.lost()) found += '-' + std::string{lost};
        return found;
    };
    CHECK(names("<a>1</a><b>2<c>3</c>") == "a c -b");
    CHECK(names("<a>1</a>2</b><c>3</c>") == "a c -b");
    // An element of the same name begins: the first one has not been closed.
    CHECK(names("<a>1<a>2</a><a>3</a>") == "a a -a");
    // A tag that opens and one that closes, both without their other halves, are one element.
    CHECK(names("<a>1<x>2</x></A><c>3</c>") == "c -a-A");
    CHECK(names("<a") == "");
    CHECK(names("< a><b c='>'</b>< /d><1>2</1><e@f></e>") == "b -e");
    CHECK(names("<a>x < y > z</a><b>c<d</b>") == "a b ");
    CHECK(find_element("<a>R&D <lab></a>", "a")->body == "R&D <lab>");
    // Neither has an end: text.
    CHECK(names("<!-- <a>1</a>") == "a ");
    CHECK(find_element("<e><![CDATA[</e>", "e")->body == "<![CDATA[");
    // What would end the first ends the second.
    CHECK(names("<e>1<![CDATA[2</e><e>3<![CDATA[</e>]]></e>") == "e e ");
    std::string deep;
    for (int i = 0; i < 200'000; ++i) deep += "<a>";
    CHECK_FALSE(XmlReader{deep}.next());
}

TEST_CASE("a text with many lost tags is read in linear time", "[server]") {
    // Searched for its end from each of them, one megabyte takes minutes.
    for (const char* const piece :
         {"<a><b/>", "</a>x", "<a0>", "<!--<a>", "<![CDATA[<!--", "<a "}) {
        std::string text = "<r>";
        for (int i = 0; text.size() < (4u << 20); ++i) {
            text += piece;
            if (text.ends_with("<a0>")) text.insert(text.size() - 1, std::to_string(i));
        }
        text += "</r><z/>";
        XmlReader reader{text};
        CHECK(reader.next()->name == "r");
        CHECK(reader.next()->name == "z");
        XmlReader inner{std::string_view{text}.substr(3)};
        while (inner.next()) continue;
        CHECK(inner.lost().back() == "r");
    }
}

TEST_CASE("values are trimmed, unescaped, bounded and valid", "[server]") {
    CHECK(text_value("  a &lt;b&gt; &amp;amp; &apos;&quot; \n") == "a <b> &amp; '\"");
    CHECK(text_value(std::string(300, 'x')).size() == 254);
    CHECK(text_value("\xC3\xA9\xC3\xA9", 3) == "\xC3\xA9");
    CHECK(clean_text("ab cd", 3) == "ab");
    CHECK(text_value("a\xFFz\x01") == "aÿz?");
    CHECK(real_value(" 1.5 ") == 1.5);
    CHECK(real_value("nan") == 0);
    CHECK(real_value("") == 0);
    CHECK(real_value("1e400") == 0);
    CHECK(real_value("1.5x") == 0);
    CHECK(integer_value("-7") == -7);
    CHECK(integer_value("7.000000") == 7);
    CHECK(integer_value("7.5") == 0);
    CHECK(integer_value("7<") == 0);
    CHECK_FALSE(whole_number(""));
    CHECK_FALSE(real_number("0x10"));
}

}  // namespace dedloc::server
