#include "project_server/scheduler/xml.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "peer/base/utf8.hpp"

namespace dedloc::server {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kCdata = "<![CDATA[";

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// Position of `closing` outside CDATA sections, at or after `from`; npos if there is none. Linear:
/// the text before the position that was found is not searched again for each section.
std::size_t find_closing(std::string_view text, std::string_view closing, std::size_t from) {
    std::size_t end = text.find(closing, from);
    while (end != std::string_view::npos) {
        const std::size_t cdata = text.substr(0, end).find(kCdata, from);
        if (cdata == std::string_view::npos) return end;
        from = text.find("]]>", cdata);
        if (from == std::string_view::npos) return from;
        if (from > end) end = text.find(closing, from);
    }
    return end;
}

std::string resolve_escapes(std::string_view text) {
    static constexpr std::array<std::pair<std::string_view, char>, 5> kEscapes{
        {{"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}, {"&amp;", '&'}}};
    std::string out;
    while (!text.empty()) {
        bool found = false;
        if (text.front() == '&') {
            for (const auto& [escape, character] : kEscapes) {
                if (!text.starts_with(escape)) continue;
                out += character;
                text.remove_prefix(escape.size());
                found = true;
                break;
            }
        }
        if (found) continue;
        out += text.front();
        text.remove_prefix(1);
    }
    return out;
}

}  // namespace

std::optional<XmlElement> XmlReader::next() {
    for (;;) {
        const std::size_t open = rest_.find('<');
        if (open == std::string_view::npos) return std::nullopt;
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
    const std::string text = valid_utf8(trim(raw));
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

std::string escape_markup(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '&':
                out += "&amp;";
                break;
            case '"':
                out += "&quot;";
                break;
            case '\'':
                out += "&#39;";
                break;
            default:
                out += c;
        }
    }
    return out;
}

std::string valid_utf8(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        std::size_t length = utf8_length(text);
        const bool is_control = static_cast<unsigned char>(text.front()) < 0x20 &&
                                kBlanks.find(text.front()) == std::string_view::npos;
        if (length == 0 || is_control) {
            out += '?';
            length = 1;
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(length);
    }
    return out;
}

}  // namespace dedloc::server
