// Letters and digits are compared as ASCII, whatever the locale of the process. %XX is decoded by
// from_hex(), which takes neither signs nor blanks.
#include "peer/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "peer/base/bytes.hpp"

namespace dedloc {
namespace {

bool is_letter_or_digit(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

bool is_made_of_letters(std::string_view text, std::string_view others) {
    return !text.empty() && std::ranges::all_of(text, [&](char c) {
        return is_letter_or_digit(c) || others.find(c) != others.npos;
    });
}

std::optional<HostAndPort> split_host_and_port(std::string_view text) {
    const auto colon = text.rfind(':');
    if (colon == text.npos) return std::nullopt;
    std::string_view host = text.substr(0, colon);
    const auto port = parse_number<std::uint16_t>(text.substr(colon + 1));
    const bool has_brackets = host.starts_with('[') && host.ends_with(']');
    if (has_brackets) host = host.substr(1, host.size() - 2);
    const bool has_colon = host.find(':') != host.npos;
    if (!port || host.empty() || has_colon != has_brackets) return std::nullopt;
    if (host.find_first_of("[]") != host.npos) return std::nullopt;
    return HostAndPort{.host = std::string{host}, .port = *port};
}

std::optional<std::string> percent_decoded(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
        std::array<std::byte, 1> byte{static_cast<std::byte>(text[at])};
        if (text[at] == '%') {
            if (!from_hex(text.substr(at + 1, 2), byte)) return std::nullopt;
            at += 2;
        }
        out += static_cast<char>(byte.front());
    }
    return out;
}

std::string percent_encoded(std::string_view text, std::string_view others) {
    std::string out;
    for (const char c : text) {
        const bool is_plain = is_letter_or_digit(c) || others.find(c) != others.npos;
        out += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return out;
}

}  // namespace dedloc
