// Creates and looks up accounts for BOINC's clients. A client sends a hash of password and e-mail
// address, never the password; the database stores a slow hash of that hash.
#pragma once

#include <string>

#include "project_server/accounts/account_request.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Replies of create_account.php and lookup_account.php: <account_out> with the account's key, or
/// <error>. Creating an existing account with its password returns its key. A look-up without a
/// password hash only says whether the account exists.
///
/// Thread  any, each with its own `database`
/// Cost    one password hash: about 50 ms and 64 MB
std::string create_account(Database& database, const AccountRequest& request, double now);
std::string look_up_account(Database& database, const AccountRequest& request);

}  // namespace dedloc::server
