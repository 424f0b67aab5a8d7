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

TEST_CASE("a file that is no XML is refused in a sentence that names it", "[server]") {
    CHECK_THROWS_WITH(boinc_file("<boinc>"), Contains("config.xml is not well-formed XML"));
    CHECK_THROWS_WITH(boinc_file("<project/>"), Contains("config.xml has no <boinc>"));
    CHECK_THROWS_WITH(boinc_file("<!DOCTYPE boinc><boinc/>"), Contains("has a DTD"));
    CHECK_THROWS_WITH(boinc_file("<?boinc?><project/>"), Contains("has no <boinc>"));
    // pugixml alone would take the first for an empty file.
    for (const std::string& text : {"<boinc/>\0<boinc>"s, "<boinc/\0>"s, "<boinc>\0</boinc>"s}) {
        CHECK_THROWS_WITH(boinc_file(text), Contains("config.xml has a byte 0"));
    }
}
