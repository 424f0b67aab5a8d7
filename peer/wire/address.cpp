// A parser for exactly what inet_pton(3) accepts, as the test compares, because this folder may not
// include socket headers. IPv4: four octets without leading zeros. IPv6: eight groups of 16 bits in
// hexadecimal; one "::" may stand for one or more groups, and an IPv4 address at the end counts as
// two groups.
#include "peer/wire/address.hpp"

#include <algorithm>
#include <cstddef>

namespace dedloc::wire {
namespace {

constexpr std::size_t kGroups = 8;  // groups of 16 bits in an IPv6 address

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_hex_digit(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// 0 to 255 without leading zeros.
bool is_octet(std::string_view text) {
    if (text.empty() || text.size() > 3 || !std::all_of(text.begin(), text.end(), is_digit)) {
        return false;
    }
    if (text.size() > 1 && text.front() == '0') return false;
    return text.size() < 3 || text <= "255";
}

bool is_ipv4(std::string_view text) {
    for (int octet = 0; octet < 3; ++octet) {
        const std::size_t dot = text.find('.');
        if (dot == std::string_view::npos || !is_octet(text.substr(0, dot))) return false;
        text.remove_prefix(dot + 1);
    }
    return is_octet(text);
}

/// Number of groups in a text such as "a:b:c", in which an IPv4 address at the end counts as two.
/// 0 for an empty text; more than kGroups if the text is malformed.
std::size_t groups_in(std::string_view text) {
    if (text.empty()) return 0;
    for (std::size_t groups = 1;; ++groups) {
        const std::size_t colon = text.find(':');
        const std::string_view group = text.substr(0, colon);
        if (colon == std::string_view::npos && is_ipv4(group)) return groups + 1;
        const bool is_group = !group.empty() && group.size() <= 4 &&
                              std::all_of(group.begin(), group.end(), is_hex_digit);
        if (!is_group) return kGroups + 1;
        if (colon == std::string_view::npos) return groups;
        text.remove_prefix(colon + 1);
    }
}

bool is_ipv6(std::string_view text) {
    const std::size_t gap = text.find("::");
    if (gap == std::string_view::npos) return groups_in(text) == kGroups;
    const std::string_view before = text.substr(0, gap);
    if (before.find('.') != std::string_view::npos) return false;
    return groups_in(before) + groups_in(text.substr(gap + 2)) < kGroups;
}

}  // namespace

bool is_numeric_address(std::string_view text) {
    return text.find(':') == std::string_view::npos ? is_ipv4(text) : is_ipv6(text);
}

}  // namespace dedloc::wire
