// Creates and looks up accounts for BOINC's clients. A client sends a hash of password and e-mail
// address, never the password; the database stores a slow hash of that hash.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "project_server/accounts/account_request.hpp"
#include "project_server/accounts/stored_account.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::server {

/// A reply of create_account.php or lookup_account.php.
struct AccountReply {
    std::string text;            ///< <account_out> or <error>
    std::int64_t user = 0;       ///< the account whose key the text has; 0: it has none
    bool is_wrong_code = false;  ///< refused for its invitation code, which may be a guess
};

/// `account` is that of the request's address, account_at(). Creating an existing account with its
/// password returns its key, and needs no invitation code. A look-up without a password hash only
/// says whether the account exists.
///
/// Thread  any, each with its own `database`
/// Cost    one password hash: about 50 ms and 64 MB
AccountReply create_account(Database& database, const std::optional<StoredAccount>& account,
                            const AccountRequest& request, double now);
AccountReply look_up_account(const std::optional<StoredAccount>& account,
                             const AccountRequest& request);

}  // namespace dedloc::server
