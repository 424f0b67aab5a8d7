// Parsing and checking of account requests, without a database.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dedloc::server {

// Characters and bytes that the tables take.
inline constexpr std::size_t kMaxAccountName = 60;
inline constexpr std::size_t kMaxEmail = 190;

/// Parameters of both requests.
struct AccountRequest {
    std::string email;          ///< in any case; stored in lower case
    std::string password_hash;  ///< 32 hex digits: MD5 of the password and the lower-case e-mail
    std::string name;           ///< user name; only to create an account
};

/// <error> with one of BOINC's numbers (error_numbers.h).
std::string account_error(int number, std::string_view sentence);

/// The reply has the key of an account: the password was right.
bool has_account_key(std::string_view reply);
/// The reply says that the password was wrong.
bool is_wrong_password(std::string_view reply);

/// Trimmed, valid UTF-8, ASCII letters in lower case.
std::string clean_email(const std::string& email);

/// The request with e-mail and name in the form that the tables take. Input is untrusted.
AccountRequest cleaned(const AccountRequest& request);

/// The error reply for a cleaned request that no account can be made from; nothing if one can.
std::optional<std::string> fault_of(const AccountRequest& request);

}  // namespace dedloc::server
