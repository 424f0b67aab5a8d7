#include "project_server/xml/xml_text.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "peer/base/error.hpp"

using namespace dedloc;
using namespace dedloc::server;
using Catch::Contains;
using namespace std::string_literals;

namespace {

XmlText boinc_file(const std::string& text) {
    return {text, "config.xml", "boinc"};
}

}  // namespace

TEST_CASE("an entry that is added and removed leaves every byte as it was", "[server]") {
    for (const std::string& text : std::vector<std::string>{
             "<boinc/>", "<boinc></boinc>", "<?xml version=\"1.0\"?>\n<boinc a='>' b=\"/>\"/>\n",
             "<boinc><![CDATA[</boinc>]]>text<?pi ?><b c='>'>x</b><!-- </boinc> --></boinc>",
             "<?boinc?><boinc><?boinc <x/>?></boinc>",
             "\xEF\xBB\xBF<boinc>\r\n\t<a/>\r\n</boinc >\r\n"}) {
        INFO(text);
        XmlText xml = boinc_file(text);
        const std::string form = xml.empty_form({"boinc"});
        xml.append({"boinc"}, "<ours>\n    <x>1 &amp; 2</x>\n</ours>");
        REQUIRE(!xml.children({"boinc"}).empty());
        CHECK(xml.children({"boinc"}).back().name == "ours");
        CHECK(xml.children({"boinc"}).back().field("x") == "1 & 2");
        CHECK(xml.remove({"boinc"}, [](const XmlChild& child) { return child.name == "ours"; }) ==
              1);
        if (!form.empty()) xml.restore({"boinc"}, form);
        CHECK(xml.text() == text);
    }
}

TEST_CASE("a closing tag without its slash is read as BOINC reads it, and stays", "[server]") {
    // As in BOINC's plan_class_spec.xml.sample.
    const std::string text =
        "<boinc>\n    <class>\n        <name>  a  </name>\n        <min>  101  <min>\n"
        "        <!-- <x>1<x> -->\n        <max>  7   <max>\n    </class>\n    <class>\n"
        "        <name>b</name>\n    </class>\n    <empty><empty>\n</boinc>\n";
    XmlText xml = boinc_file(text);
    const auto children = xml.children({"boinc"});
    REQUIRE(children.size() == 3);
    CHECK(children[0].field("min") == "101");
    CHECK(children[0].field("max") == "7");
    CHECK(text.substr(children[0].begin, 7) == "<class>");
    CHECK(text.substr(children[0].end - 8, 8) == "</class>");
    CHECK(children[1].field("name") == "b");
    CHECK(text.substr(children[1].end - 8, 8) == "</class>");
    xml.append({"boinc"}, "<class>\n    <name>ours</name>\n</class>");
    CHECK(xml.children({"boinc"}).back().field("name") == "ours");
    CHECK(xml.text().find("<min>  101  <min>") != std::string::npos);
    xml.append({"boinc", "class"}, "<more>1</more>");
    CHECK(xml.children({"boinc"}).front().field("more") == "1");
    CHECK(xml.remove({"boinc", "class"},
                     [](const XmlChild& child) { return child.name == "more"; }) == 1);
    CHECK(xml.remove({"boinc"},
                     [](const XmlChild& child) { return child.field("name") == "ours"; }) == 1);
    CHECK(xml.text() == text);
    // An element inside one of the same name is well-formed.
    CHECK(boinc_file("<boinc><a>1<a>2</a></a></boinc>").children({"boinc"}).size() == 1);
}

TEST_CASE("a file that is no XML is refused in a sentence that names it", "[server]") {
    CHECK_THROWS_WITH(boinc_file("<boinc>"), Contains("config.xml is not well-formed XML"));
    CHECK_THROWS_WITH(boinc_file("<boinc>\n<a>1</a>\n<b>2</c>\n</boinc>"),
                      Contains("in line 3, at </c>"));
    CHECK_THROWS_WITH(boinc_file("<boinc>\n<a><b>1</b><a>\n</boinc>"), Contains("in line 3"));
    CHECK_THROWS_WITH(boinc_file("<project/>"), Contains("config.xml has no <boinc>"));
    CHECK_THROWS_WITH(boinc_file("<!DOCTYPE boinc><boinc/>"), Contains("has a DTD"));
    CHECK_THROWS_WITH(boinc_file("<?boinc?><project/>"), Contains("has no <boinc>"));
    // pugixml alone would take the first for an empty file.
    for (const std::string& text : {"<boinc/>\0<boinc>"s, "<boinc/\0>"s, "<boinc>\0</boinc>"s}) {
        CHECK_THROWS_WITH(boinc_file(text), Contains("config.xml has a byte 0"));
    }
}
