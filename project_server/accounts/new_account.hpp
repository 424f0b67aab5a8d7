// Makes the row of an account, for BOINC's clients and for the web pages alike.
#pragma once

#include <cstdint>
#include <string>

#include "project_server/accounts/account_request.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::server {

/// What came of a request for an account.
enum class AccountOutcome {
    kMade,       ///< there is an account now
    kTaken,      ///< the e-mail address has one already
    kNoCode,     ///< the project wants an invitation code, and the request has none
    kWrongCode,  ///< the code is unknown, used up, expired or revoked
};

/// A new account, or why there is none.
struct NewAccount {
    AccountOutcome outcome = AccountOutcome::kMade;  ///< whether there is one
    std::int64_t user = 0;                           ///< user.id; 0 unless made
    std::string key{};                               ///< the authenticator; empty unless made
    std::string refusal{};                           ///< a sentence for the visitor; empty if made
};

/// Makes an account of a request without a fault (cleaned(), fault_of()). Where the project admits
/// by invitation it takes a place of the request's code in the same transaction.
///
/// Errors  DatabaseError, RefusedData
/// Cost    one password hash: about 50 ms and 64 MB; none if the request is refused for its code
NewAccount make_account(Database& database, const AccountRequest& request, double now);

}  // namespace dedloc::server
