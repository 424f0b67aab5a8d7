// Accounts as BOINC's clients make and find them. The client sends a hash of password and e-mail,
// never the password; what is kept is a slow hash of that.
#pragma once

#include <string>

#include "project_server/database/database.hpp"

namespace dedloc::server {

struct AccountRequest {
    std::string email;
    std::string password_hash;  ///< 32 hex digits: MD5 of the password and the lower-case e-mail
    std::string name;           ///< only to create
};

/// Replies of create_account.php and lookup_account.php: <account_out> with the account's key, or
/// <error>. Creating an account that exists, with its password, finds it. Thread  any, each with
/// its own `database`.      Cost  one password hash: about 50 ms and 64 MB
std::string create_account(Database& database, const AccountRequest& request, double now);
std::string look_up_account(Database& database, const AccountRequest& request);

}  // namespace dedloc::server
