// Reader of BOINC's kind of XML: elements without declaration, between them free text and CDATA
// from apps. Requests come from strangers. libboinc's reader recurses into every unknown element
// and copies through small buffers; this one scans one string in linear time without recursion.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dedloc::server {

/// An element; the views point into the text that was read.
struct XmlElement {
    std::string_view name;   ///< name in the tag
    std::string_view body;   ///< text between the tags, unchanged; empty for <name/>
    std::string_view whole;  ///< the element including its tags
};

/// Returns the elements of `text` one after the other, without entering nested ones. Skips text
/// between elements, CDATA sections and comments.
class XmlReader {
  public:
    explicit XmlReader(std::string_view text) : rest_(text) {}
    /// The next element; nothing at the end of the text or at an element that is never closed.
    std::optional<XmlElement> next();

  private:
    std::string_view rest_;
};

/// The first element of that name directly inside `text`; nothing if there is none.
std::optional<XmlElement> find_element(std::string_view text, std::string_view name);

/// An element's body as text: trimmed, &-escapes resolved (also &#N; of a byte N), invalid UTF-8
/// replaced, cut to `limit` bytes.
std::string text_value(std::string_view body, std::size_t limit = 254);
// The body as a number; 0 if it is not one or not finite.
double real_value(std::string_view body);
std::int64_t integer_value(std::string_view body);
/// <name/>, <name>1</name> and <name>true</name> are true.
bool flag_value(const XmlElement& element);

/// Text from outside, made fit for the database: trimmed, valid UTF-8, cut to `limit` bytes.
std::string clean_text(std::string_view text, std::size_t limit = 254);

}  // namespace dedloc::server
