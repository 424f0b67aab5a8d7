#include "project_server/xml/xml.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "peer/base/markup.hpp"

namespace dedloc::server {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// Text that may contain tags which are none.
struct Section {
    std::string_view begin;
    std::string_view end;
};
constexpr std::array<Section, 2> kSections{{{"<![CDATA[", "]]>"}, {"<!--", "-->"}}};

/// Position behind the section that begins at `at`; `at` if none does; npos if it has no end.
std::size_t skip_section(std::string_view text, std::size_t at) {
    for (const Section& section : kSections) {
        if (!text.substr(at).starts_with(section.begin)) continue;
        const std::size_t end = text.find(section.end, at + section.begin.size());
        return end == std::string_view::npos ? end : end + section.end.size();
    }
    return at;
}

/// Position of `closing` outside sections, at or after `from`; npos if there is none. Linear: the
/// text before the position that was found is not searched again for each section.
std::size_t find_closing(std::string_view text, std::string_view closing, std::size_t from) {
    std::size_t end = text.find(closing, from);
    while (end != std::string_view::npos) {
        const std::size_t mark = text.substr(0, end).find("<!", from);
        if (mark == std::string_view::npos) return end;
        from = skip_section(text, mark);
        if (from == std::string_view::npos) return from;
        if (from == mark) ++from;  // text
        if (from > end) end = text.find(closing, from);
    }
    return end;
}

/// An escape that begins `text`: its length and what it stands for. BOINC's programs write each
/// byte of a character that is not ASCII as a number of its own: "&#195;&#169;" is an é.
std::optional<std::pair<std::size_t, char>> escape_in(std::string_view text) {
    static constexpr std::array<std::pair<std::string_view, char>, 5> kEscapes{
        {{"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}, {"&amp;", '&'}}};
    for (const auto& [escape, character] : kEscapes) {
        if (text.starts_with(escape)) return std::pair{escape.size(), character};
    }
    if (!text.starts_with("&#")) return std::nullopt;
    unsigned char byte = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, failure] = std::from_chars(text.data() + 2, end, byte);
    if (failure != std::errc{} || rest == end || *rest != ';' || byte == 0) return std::nullopt;
    return std::pair{static_cast<std::size_t>(rest + 1 - text.data()), static_cast<char>(byte)};
}

std::string resolve_escapes(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const auto [length, character] =
            escape_in(text).value_or(std::pair{std::size_t{1}, text.front()});
        out += character;
        text.remove_prefix(length);
    }
    return out;
}

}  // namespace

std::optional<XmlElement> XmlReader::next() {
    for (;;) {
        const std::size_t open = rest_.find('<');
        if (open == std::string_view::npos) return std::nullopt;
        if (const std::size_t behind = skip_section(rest_, open); behind != open) {
            rest_.remove_prefix(std::min(behind, rest_.size()));
            continue;
        }
        const std::string_view from = rest_.substr(open);
        const std::size_t close = from.find('>');
        if (close == std::string_view::npos) return std::nullopt;
        rest_ = from.substr(close + 1);
        std::string_view tag = from.substr(1, close - 1);
        if (tag.empty() || tag.front() == '/' || tag.front() == '!' || tag.front() == '?') continue;
        const bool is_empty = tag.back() == '/';
        if (is_empty) tag.remove_suffix(1);
        const std::string_view name = tag.substr(0, tag.find_first_of(kBlanks));
        if (is_empty) return XmlElement{name, {}, from.substr(0, close + 1)};
        const std::string closing = "</" + std::string{name} + ">";
        const std::size_t end = find_closing(from, closing, close + 1);
        if (end == std::string_view::npos) return std::nullopt;
        const std::size_t after = end + closing.size();
        rest_ = from.substr(after);
        return XmlElement{name, from.substr(close + 1, end - close - 1), from.substr(0, after)};
    }
}

std::optional<XmlElement> find_element(std::string_view text, std::string_view name) {
    XmlReader reader{text};
    while (const auto element = reader.next()) {
        if (element->name == name) return element;
    }
    return std::nullopt;
}

std::string text_value(std::string_view body, std::size_t limit) {
    return clean_text(resolve_escapes(trim(body)), limit);
}

std::string clean_text(std::string_view raw, std::size_t limit) {
    const std::string text = valid_text(trim(raw));
    if (text.size() <= limit) return text;
    // Do not cut a UTF-8 character.
    std::size_t end = limit;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    return std::string{trim(std::string_view{text}.substr(0, end))};
}

double real_value(std::string_view body) {
    const std::string_view digits = trim(body);
    double value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return std::isfinite(value) ? value : 0;
}

std::int64_t integer_value(std::string_view body) {
    const std::string_view digits = trim(body);
    std::int64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
}

bool flag_value(const XmlElement& element) {
    const std::string_view value = trim(element.body);
    return value == "1" || value == "true" || element.whole.ends_with("/>");
}

}  // namespace dedloc::server
