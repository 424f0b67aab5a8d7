// An XML file of the project, edited as text: what is not edited keeps every byte, comments and
// white space included, so an element that is added and removed again leaves no
// difference.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dedloc::server {

/// An element directly inside another one.
struct XmlChild {
    std::string name{};  ///< in its tag
    std::string text{};  ///< text between its tags, escapes resolved
    /// Texts of the elements directly inside it, trimmed; of several of one name the first.
    std::map<std::string, std::string> fields{};
    std::size_t begin = 0;  ///< offset of its '<'
    std::size_t end = 0;    ///< offset behind its last '>'

    /// A field's text; empty if there is none.
    std::string field(const std::string& name_of_field) const;
};

/// Names from the root element on: {"boinc", "daemons"}.
using XmlPath = std::vector<std::string>;

/// The text of an XML file. Every edit leaves it well-formed.
class XmlText {
  public:
    /// Errors: InputError, which names `file`, if the text is not well-formed, has a DTD or lacks
    /// the root element `root`.
    XmlText(std::string text, std::string file, std::string root);

    /// The text with all edits.
    const std::string& text() const { return text_; }
    /// Whether there is an element at `path`.
    bool has(const XmlPath& path) const;
    /// The element at `path`, of several the first one; nothing if there is none.
    std::optional<XmlChild> find(const XmlPath& path) const;
    /// The text of the tag of an element that has no content, such as "<daemons/>" or
    /// "<daemons></daemons>"; empty if it is absent or has content.
    std::string empty_form(const XmlPath& path) const;
    /// The elements directly inside the one at `path`; none if there is no such element.
    std::vector<XmlChild> children(const XmlPath& path) const;

    /// Adds an element behind the last one inside the element at `path`, on lines of its own,
    /// indented like its neighbours. `source` has its own lines indented relative to its first one.
    /// Requires the element at `path`. Errors: InputError, and nothing is changed, if a tag that
    /// closes that element or its neighbour lacks its slash.
    void append(const XmlPath& path, const std::string& source);
    /// Removes the elements directly inside the one at `path` for which `is_chosen` holds, with the
    /// white space and the line end before each: the reverse of append(). Returns their number.
    std::size_t remove(const XmlPath& path, const std::function<bool(const XmlChild&)>& is_chosen);
    /// Replaces the element at `path`, which has no element inside, by `form`, a tag as
    /// empty_form() returns it.
    void restore(const XmlPath& path, const std::string& form);

  private:
    void replace(std::size_t begin, std::size_t end, const std::string& by);

    std::string text_;
    const std::string file_;
    const std::string root_;
};

}  // namespace dedloc::server
