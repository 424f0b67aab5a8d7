// E-mail addresses: the one form in which the project stores and compares them, and which of them a
// new account may have. Nothing here needs a database.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace dedloc::server {

/// Bytes of a new account's address: what RFC 5321 lets a path have, and what the column takes.
inline constexpr std::size_t kMaxEmail = 254;

/// The form in which an address is stored, looked up and hashed with the password: without blanks
/// around it, valid UTF-8, ASCII letters in lower case. It changes no other letter, because BOINC's
/// clients and Manager lower-case the same letters before they hash. Input is untrusted.
std::string clean_email(std::string_view typed);

/// Why no account may get this clean address: a sentence for the user. Nothing: the mailer can
/// deliver to it. Accounts that have another address from former releases keep it.
std::optional<std::string> email_fault(std::string_view address);

/// One address and nothing else in ASCII: neither a list nor an option of a program, and nothing
/// that ends a line of SMTP or of a header. Every address without an email_fault() is one.
bool is_mail_address(std::string_view address);

}  // namespace dedloc::server
