// Parsing and checking of account requests, without a database.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "project_server/email_address.hpp"

namespace dedloc::server {

// Bytes that the table takes.
inline constexpr std::size_t kMaxAccountName = 60;

/// The number with which create_account.php of BOINC's servers refuses an invitation code.
inline constexpr int kInvalidInvitation = -1;

/// Parameters of both requests.
struct AccountRequest {
    std::string email;          ///< in any case; stored in lower case
    std::string password_hash;  ///< 32 hex digits: MD5 of the password and the lower-case e-mail
    std::string name;           ///< user name; only to create an account
    std::string invitation{};   ///< invitation code as typed; only to create an account
};

/// <error> with one of BOINC's numbers (error_numbers.h).
std::string account_error(int number, std::string_view sentence);

/// The reply tells a guess at an account's password that it was wrong: that of a look-up, or of the
/// creation of an account that exists.
bool is_wrong_password(std::string_view reply);

/// The request with e-mail and name in the form that the tables take. Input is untrusted.
AccountRequest cleaned(const AccountRequest& request);

/// The error reply for a text that is no password hash of a client; nothing if it is one.
std::optional<std::string> hash_fault(const std::string& password_hash);
/// The error reply for a cleaned request that no account can be made from; nothing if one can.
std::optional<std::string> fault_of(const AccountRequest& request);

}  // namespace dedloc::server
