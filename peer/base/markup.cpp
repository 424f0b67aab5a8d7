// Characters are judged and copied one by one. The escapes are those that BOINC's reader, XML and
// HTML all resolve: HTML 4 has no &apos;, so an apostrophe is a number.
#include "peer/base/markup.hpp"

#include "peer/base/utf8.hpp"

namespace dedloc {
namespace {

/// Appends the first character of `text`, which is not empty, and removes it there.
void take_character(std::string_view& text, std::string& out) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, length);
    const auto first = static_cast<unsigned char>(text.front());
    const bool is_control = first < 0x20 && first != '\t' && first != '\n' && first != '\r';
    if (length == 0 || is_control || character == "\xEF\xBF\xBE" || character == "\xEF\xBF\xBF") {
        out += '?';
    } else {
        out += character;
    }
    text.remove_prefix(length == 0 ? 1 : length);
}

std::string_view escape_of(char c) {
    switch (c) {
        case '<':
            return "&lt;";
        case '>':
            return "&gt;";
        case '&':
            return "&amp;";
        case '"':
            return "&quot;";
        case '\'':
            return "&#39;";
        default:
            return {};
    }
}

}  // namespace

std::string valid_text(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) take_character(text, out);
    return out;
}

// The control characters of ASCII, and those of Unicode: C2 80 to C2 9F in UTF-8.
std::string printable_text(std::string text) {
    for (std::size_t at = 0; at < text.size(); ++at) {
        const auto byte = static_cast<unsigned char>(text[at]);
        const bool is_second = at > 0 && static_cast<unsigned char>(text[at - 1]) == 0xC2;
        const bool is_upper_control = is_second && byte < 0xA0;
        if (byte < 0x20 || byte == 0x7F || is_upper_control) text[at] = '?';
        if (is_upper_control) text[at - 1] = '?';
    }
    return text;
}

std::string escape_markup(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::string_view escape = escape_of(text.front());
        if (escape.empty()) {
            take_character(text, out);
        } else {
            out += escape;
            text.remove_prefix(1);
        }
    }
    return out;
}

}  // namespace dedloc
