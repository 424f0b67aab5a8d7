// What a BOINC client asks of an account, and what of it the tables take: without a database.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dedloc::server {

inline constexpr std::size_t kMaxAccountName = 60;
inline constexpr std::size_t kMaxEmail = 190;

struct AccountRequest {
    std::string email;
    std::string password_hash;  ///< 32 hex digits: MD5 of the password and the lower-case e-mail
    std::string name;           ///< only to create
};

/// <error> with one of BOINC's numbers (error_numbers.h).
std::string account_error(int number, std::string_view sentence);

/// Trimmed, valid UTF-8, ASCII letters in lower case.
std::string clean_email(const std::string& email);

/// The request with the e-mail and the name as the tables take them. Untrusted input.
AccountRequest cleaned(const AccountRequest& request);

/// Why no account can be made of a cleaned request, as a reply; nothing: it can.
std::optional<std::string> fault_of(const AccountRequest& request);

}  // namespace dedloc::server
