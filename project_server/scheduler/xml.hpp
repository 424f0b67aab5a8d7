// What BOINC calls XML: elements without declaration, with free text and CDATA from apps in
// between. libboinc's reader calls itself for every nested unknown element and copies through small
// buffers; a request comes from strangers, so this one walks over one string in linear time and
// depth one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dedloc::server {

struct XmlElement {
    std::string_view name;
    std::string_view body;   ///< between the tags, unchanged; empty for <name/>
    std::string_view whole;  ///< with the tags
};

/// Hands out the elements of `text` one after the other, without their nested ones. Text between
/// elements is skipped.
class XmlReader {
  public:
    explicit XmlReader(std::string_view text) : rest_(text) {}
    /// Nothing at the end, and at the first element that is never closed.
    std::optional<XmlElement> next();

  private:
    std::string_view rest_;
};

/// The first element of that name directly inside `text`.
std::optional<XmlElement> find_element(std::string_view text, std::string_view name);

/// An element's body as text: trimmed, &-escapes resolved, invalid UTF-8 replaced, at most `limit`
/// bytes.
std::string text_value(std::string_view body, std::size_t limit = 254);
/// 0 if it is no number.
double real_value(std::string_view body);
std::int64_t integer_value(std::string_view body);
/// <name/>, <name>1</name> and <name>true</name> are true.
bool flag_value(const XmlElement& element);

/// Text from outside as the tables take it: trimmed, valid UTF-8, at most `limit` bytes.
std::string clean_text(std::string_view text, std::size_t limit = 254);

/// For text inside an element, of XML or HTML.
std::string escape_markup(std::string_view text);
/// `text` with each byte that is not part of valid UTF-8, and each control character, replaced by
/// '?'.
std::string valid_utf8(std::string_view text);

}  // namespace dedloc::server
