// The form of an invitation code, without a database: 16 symbols of 5 bits, the digits and letters
// but I, L, O and U (Crockford's base 32), in four groups: "7K2M-Q9XA-40TB-ZC5E". People read it
// aloud and type it, so case, blanks and dashes do not matter, and I, L and O are read as 1, 1, 0.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace dedloc::server {

/// Symbols of a code: 80 bits.
inline constexpr std::size_t kInvitationSymbols = 16;
/// Bytes of a typed text that may be a code.
inline constexpr std::size_t kMaxTypedInvitation = 64;

/// The code's 16 symbols in upper case; nothing if the text is no code. Input is untrusted. Cost:
/// one pass over at most kMaxTypedInvitation bytes.
std::optional<std::string> read_invitation_code(std::string_view typed);
/// The 16 symbols in four groups.
std::string write_invitation_code(const std::string& symbols);
/// The symbols of 10 random bytes, 5 bits each.
std::string invitation_symbols(const std::array<std::byte, 10>& random);

}  // namespace dedloc::server
