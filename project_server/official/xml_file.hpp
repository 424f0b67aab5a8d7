// One edit of an XML file of the project: the file is read, entries are added to the text or
// removed, and the file is replaced if the text has changed.
#pragma once

#include <filesystem>
#include <string>

#include "project_server/official/manifest.hpp"
#include "project_server/xml/xml_text.hpp"

namespace dedloc::official {

using server::XmlChild;
using server::XmlPath;
using server::XmlText;

/// An XML file of an official project.
class XmlFile final {
  public:
    /// Reads `name` in the project; an absent file begins as an empty element `root`. Errors:
    /// InputError.
    XmlFile(const std::filesystem::path& project, const std::string& name, const std::string& root);

    XmlText& text() { return text_; }
    const XmlText& text() const { return text_; }
    /// Makes sure that there is an element at `path`, which has a parent. Notes in the manifest how
    /// it was if it had no content.
    void ensure(const XmlPath& path, Manifest& manifest);
    /// Brings the element at `path` back to the form that the manifest knows, unless it has content
    /// now.
    void restore(const XmlPath& path, const Manifest& manifest);
    /// Whether the text has been edited.
    bool is_changed() const { return text_.text() != first_; }
    /// Replaces the file if its text has changed. Errors: IoError, also if the file
    /// has changed since it was read.
    void write() const;

  private:
    std::string key_of(const XmlPath& path) const;

    const std::filesystem::path file_;
    const std::string name_;
    const std::string before_;  ///< the file; empty: there is none
    const std::string first_;   ///< the text before the first edit
    XmlText text_;
};

}  // namespace dedloc::official
