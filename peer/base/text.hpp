// Small operations on texts.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace dedloc {

/// The text without these characters at its begin and end.
constexpr std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n") {
    const auto first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

/// Whether the text is not empty and has only ASCII letters, digits and `others`.
bool is_made_of_letters(std::string_view text, std::string_view others);

/// Whether the text begins with http:// or https://.
constexpr bool has_web_scheme(std::string_view url) {
    return url.starts_with("http://") || url.starts_with("https://");
}

/// The number that the whole text is, as std::from_chars() reads it: no blanks, no plus sign.
/// Nothing for another text, or if the type cannot hold it.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
    Number number{};
    const char* const end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, number);
    if (failure != std::errc{} || stop != end) return std::nullopt;
    return number;
}

/// An address as people write it.
struct HostAndPort {
    std::string host;        ///< without brackets; not empty
    std::uint16_t port = 0;  ///< also 0
};
/// Splits HOST:PORT or [HOST]:PORT, the second if and only if the host has a colon. Nothing for
/// another text. What the host is made of is not checked.
std::optional<HostAndPort> split_host_and_port(std::string_view text);

/// The text with each %XX replaced by its byte; nothing if two hex digits do not follow a %.
std::optional<std::string> percent_decoded(std::string_view text);

/// The text with %XX for every byte but ASCII letters, digits and `others`.
std::string percent_encoded(std::string_view text, std::string_view others);

}  // namespace dedloc
