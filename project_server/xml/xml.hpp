// Reader of BOINC's kind of XML: elements without declaration, between them free text and CDATA
// from apps. Requests come from strangers. libboinc's reader recurses into every unknown element
// and copies through small buffers; this one scans one string in linear time without recursion.
//
// What is damaged is lost alone: README.md says which part of a text that is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dedloc::server {

/// An element; the views point into the text that was read.
struct XmlElement {
    std::string_view name;   ///< name in the tag
    std::string_view body;   ///< text between the tags, unchanged; empty for <name/>
    std::string_view whole;  ///< the element including its tags
};

/// A tag of a text.
struct XmlTag {
    /// What it does.
    enum class Kind {
        kOpening,  ///< <name>
        kClosing,  ///< </name>
        kEmpty,    ///< <name/>
    };
    std::string_view name;     ///< without brackets and attributes
    Kind kind = Kind::kEmpty;  ///< what the tag does
    std::size_t begin = 0;     ///< offset of its '<'
    std::size_t end = 0;       ///< offset behind its '>'
    /// Index of the tag that closes the element; 0: this tag opens none, or none closes it.
    std::size_t partner = 0;
};

/// Returns the elements of `text` one after the other, without entering nested ones. Skips text
/// between elements, CDATA sections and comments, and tags without their other half.
class XmlReader {
  public:
    explicit XmlReader(std::string_view text);
    /// The next element; nothing at the end of the text.
    std::optional<XmlElement> next();
    /// Names of the elements outside those returned that are lost up to here, as one of their tags
    /// is damaged or absent: the names in the tags that were found.
    const std::vector<std::string_view>& lost() const { return lost_; }

  private:
    void skip_lost();

    std::string_view text_;
    std::vector<XmlTag> tags_;
    std::size_t at_ = 0;  ///< the tag that is read next
    std::vector<std::string_view> lost_;
};

/// The first element of that name directly inside `text`; nothing if there is none.
std::optional<XmlElement> find_element(std::string_view text, std::string_view name);

/// An element's body as text: trimmed, &-escapes resolved (also &#N; of a byte N), made valid UTF-8
/// by utf8_of() (encodings.hpp), cut to `limit` bytes at a character.
std::string text_value(std::string_view body, std::size_t limit = 254);
// The body as a number; nothing if it is not one, or not finite, or has other text behind it.
std::optional<double> real_number(std::string_view body);
std::optional<std::int64_t> whole_number(std::string_view body);
// The same; 0 if it is no number.
double real_value(std::string_view body);
std::int64_t integer_value(std::string_view body);
/// <name/>, <name>1</name> and <name>true</name> are true.
bool flag_value(const XmlElement& element);

/// Text from outside, made fit for the database: trimmed, valid UTF-8 (utf8_of()), cut to `limit`
/// bytes at a character.
std::string clean_text(std::string_view text, std::size_t limit = 254);

}  // namespace dedloc::server
