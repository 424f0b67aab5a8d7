// The part before the @ may have the signs of RFC 5321 without those that mail servers take for a
// route, a program or a file, and that Debian's Exim therefore refuses: % ! ` # & ? | and /. Quoted
// parts, comments and addresses in brackets are refused. So are letters beyond ASCII: a relay need
// not know SMTPUTF8. A domain is not converted to its ASCII form, because BOINC's clients hash the
// password with the address as it was typed.
#include "project_server/email_address.hpp"

#include <algorithm>

#include "peer/base/markup.hpp"
#include "peer/base/text.hpp"

namespace dedloc::server {
namespace {

constexpr std::size_t kMaxLocalPart = 64;
constexpr std::size_t kMaxLabel = 63;
constexpr std::string_view kSigns = "$'*+-.=^_{}~";

constexpr const char* kNotAscii =
    "The e-mail address has a character that not every mail server takes. Use one of ASCII "
    "letters, "
    "digits and signs; the ASCII form of an international domain begins with xn--.";
constexpr const char* kNotOneAt =
    "The e-mail address is not valid: it has one @, between a mailbox and a domain.";
constexpr const char* kBadLocalPart =
    "The e-mail address is not valid: before the @ are at most 64 letters, digits and signs of "
    "$'*+-.=^_{}~, with no hyphen at the beginning, and no dot at the beginning, at the end or "
    "beside another.";
constexpr const char* kBadDomain =
    "The e-mail address is not valid: after the @ is a domain such as example.org, of letters, "
    "digits, hyphens and dots.";

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// Printable and not a blank.
bool is_graphic(char c) {
    return c > 0x20 && c < 0x7F;
}

bool is_local_part(std::string_view text) {
    return is_made_of_letters(text, kSigns) && text.size() <= kMaxLocalPart &&
           text.front() != '-' && text.front() != '.' && text.back() != '.' &&
           text.find("..") == text.npos;
}

bool is_label(std::string_view text) {
    return is_made_of_letters(text, "-") && text.size() <= kMaxLabel && text.front() != '-' &&
           text.back() != '-';
}

/// A domain has at least two labels, and its last label is no number: 192.0.2.1 is an address.
bool is_domain(std::string_view text) {
    const auto last = text.rfind('.');
    if (last == text.npos || std::ranges::all_of(text.substr(last + 1), is_digit)) return false;
    while (text.find('.') != text.npos) {
        const auto dot = text.find('.');
        if (!is_label(text.substr(0, dot))) return false;
        text.remove_prefix(dot + 1);
    }
    return is_label(text);
}

}  // namespace

std::string clean_email(std::string_view typed) {
    std::string text = valid_text(trimmed(typed));
    std::ranges::transform(text, text.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return text;
}

std::optional<std::string> email_fault(std::string_view address) {
    if (address.size() > kMaxEmail) return "An e-mail address has at most 254 characters.";
    if (!std::ranges::all_of(address, is_graphic)) return kNotAscii;
    const auto at = address.find('@');
    if (at == address.npos || at != address.rfind('@')) return kNotOneAt;
    if (!is_local_part(address.substr(0, at))) return kBadLocalPart;
    if (!is_domain(address.substr(at + 1))) return kBadDomain;
    return std::nullopt;
}

bool is_mail_address(std::string_view address) {
    const auto at = address.find('@');
    return at != address.npos && at > 0 && at + 1 < address.size() && at == address.rfind('@') &&
           address.front() != '-' && address.size() <= kMaxEmail &&
           std::ranges::all_of(address, is_graphic) &&
           address.find_first_of("<>,;:\"\\()[]|") == address.npos;
}

}  // namespace dedloc::server
