// Configuration files of an official BOINC server, which its administrators write: a byte that
// chooses the element, then the file. An entry that is added and removed again leaves no
// difference, as dedloc install and --remove promise.
#include <fmt/format.h>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "project_server/xml/xml_text.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dedloc::fuzz {
namespace {

using namespace dedloc::server;

constexpr const char* kOurs = "dedloc_fuzz";

std::optional<XmlText> parsed_xml(std::string text) {
    try {
        return XmlText{std::move(text), "config.xml", "boinc"};
    } catch (const InputError&) {
        return std::nullopt;
    }
}

bool is_ours(const XmlChild& child) {
    return child.name == kOurs;
}

void check_children(const XmlText& xml, const XmlPath& path) {
    std::size_t end = 0;
    for (const XmlChild& child : xml.children(path)) {
        DEDLOC_CHECK(child.begin >= end && child.end > child.begin, "children follow each other");
        end = child.end;
        DEDLOC_CHECK(end <= xml.text().size(), "a child is a part of the text", end);
        DEDLOC_CHECK(xml.text()[child.begin] == '<' && xml.text()[end - 1] == '>', "tags", end);
        DEDLOC_CHECK(xml.text().substr(child.begin + 1).starts_with(child.name), "its name");
    }
}

void add_and_remove(XmlText& xml, const XmlPath& path) {
    const std::string before = xml.text();
    const std::string form = xml.empty_form(path);
    const auto children = xml.children(path).size();
    try {
        xml.append(path, fmt::format("<{0}>\n    <a>1 &amp; 2</a>\n</{0}>", kOurs));
    } catch (const InputError&) {
        // The element is closed by a tag without its slash.
        DEDLOC_CHECK(xml.text() == before, "what cannot be added changes nothing", xml.text());
        return;
    }
    const auto more = xml.children(path);
    DEDLOC_CHECK(more.size() == children + 1 && is_ours(more.back()), "an entry is the last one");
    DEDLOC_CHECK(more.back().field("a") == "1 & 2", "an entry is read as it was written");
    check_children(xml, path);
    DEDLOC_CHECK(xml.remove(path, is_ours) == 1, "one entry is removed");
    if (!form.empty()) xml.restore(path, form);
    DEDLOC_CHECK(xml.text() == before, "every byte is as it was", xml.text());
}

}  // namespace

void fuzz_config_xml(std::span<const std::byte> input) {
    if (input.empty()) return;
    static const std::array<XmlPath, 3> kPaths{
        {{"boinc"}, {"boinc", "config"}, {"boinc", "daemons"}}};
    const XmlPath& path = kPaths[std::to_integer<unsigned>(input[0]) % kPaths.size()];
    auto xml = parsed_xml({reinterpret_cast<const char*>(input.data()) + 1, input.size() - 1});
    if (!xml || !xml->has(path)) return;
    check_children(*xml, path);
    for (const XmlChild& child : xml->children(path)) {
        if (is_ours(child)) return;
    }
    add_and_remove(*xml, path);
}

}  // namespace dedloc::fuzz
