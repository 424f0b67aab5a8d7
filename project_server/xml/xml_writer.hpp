// Writes BOINC's kind of XML, one element per line, because clients copy some elements line by
// line.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>

#include "peer/base/markup.hpp"

namespace dedloc::server {

/// Appends elements to a text. Text values are escaped; numbers are written as BOINC's server does.
class XmlWriter {
  public:
    /// <name> on a line of its own; close() ends it.
    void open(std::string_view name) { text_ += fmt::format("<{}>\n", name); }
    void close(std::string_view name) { text_ += fmt::format("</{}>\n", name); }
    /// <name/>
    void flag(std::string_view name) { text_ += fmt::format("<{}/>\n", name); }
    /// <name>value</name>, with markup escaped in texts.
    void add(std::string_view name, std::string_view value) {
        text_ += fmt::format("<{0}>{1}</{0}>\n", name, escape_markup(value));
    }
    void add(std::string_view name, std::integral auto value) {
        text_ += fmt::format("<{0}>{1}</{0}>\n", name, value);
    }
    void add(std::string_view name, std::floating_point auto value) {
        text_ += fmt::format("<{0}>{1:.6f}</{0}>\n", name, value);
    }
    /// <message priority="…">sentence</message>
    void message(std::string_view priority, std::string_view sentence) {
        text_ += fmt::format("<message priority=\"{}\">{}</message>\n", priority,
                             escape_markup(sentence));
    }
    /// Elements that are XML already.
    void raw(std::string_view elements) {
        text_ += elements;
        if (!elements.empty() && !elements.ends_with('\n')) text_ += '\n';
    }
    const std::string& text() const { return text_; }
    std::string take() && { return std::move(text_); }

  private:
    std::string text_;
};

}  // namespace dedloc::server
