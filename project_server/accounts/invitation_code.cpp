#include "project_server/accounts/invitation_code.hpp"

#include "peer/base/check.hpp"

namespace dedloc::server {
namespace {

constexpr std::string_view kSymbols = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr std::size_t kGroup = 4;

/// The symbol that a typed character stands for; 0: none.
char symbol_of(char typed) {
    char upper = typed;
    if (upper >= 'a' && upper <= 'z') upper = static_cast<char>(upper - 'a' + 'A');
    if (upper == 'O') return '0';
    if (upper == 'I' || upper == 'L') return '1';
    return kSymbols.find(upper) == kSymbols.npos ? '\0' : upper;
}

}  // namespace

std::optional<std::string> read_invitation_code(std::string_view typed) {
    if (typed.size() > kMaxTypedInvitation) return std::nullopt;
    std::string symbols;
    for (const char c : typed) {
        if (c == ' ' || c == '-' || c == '\t' || c == '\r' || c == '\n') continue;
        const char symbol = symbol_of(c);
        if (symbol == '\0') return std::nullopt;
        symbols += symbol;
    }
    if (symbols.size() != kInvitationSymbols) return std::nullopt;
    return symbols;
}

std::string write_invitation_code(const std::string& symbols) {
    DEDLOC_CHECK(symbols.size() == kInvitationSymbols, "a code has 16 symbols");
    std::string text;
    for (std::size_t at = 0; at < symbols.size(); at += kGroup) {
        if (at > 0) text += '-';
        text += symbols.substr(at, kGroup);
    }
    return text;
}

std::string invitation_symbols(const std::array<std::byte, 10>& random) {
    std::string symbols;
    unsigned bits = 0;
    unsigned held = 0;
    for (const std::byte byte : random) {
        bits = (bits << 8U) | std::to_integer<unsigned>(byte);
        held += 8;
        while (held >= 5) {
            held -= 5;
            symbols += kSymbols[(bits >> held) & 31U];
        }
        bits &= (1U << held) - 1;
    }
    return symbols;
}

}  // namespace dedloc::server
