#include "project_server/accounts/accounts.hpp"

#include <config.h>

#include <error_numbers.h>
#include <fmt/format.h>

#include "peer/base/log.hpp"
#include "project_server/accounts/passwords.hpp"
#include "project_server/accounts/sessions.hpp"
#include "project_server/accounts/stored_account.hpp"
#include "project_server/publishing/keys.hpp"

namespace dedloc::server {
namespace {

std::string key_reply(const std::string& authenticator) {
    return fmt::format("<account_out>\n    <authenticator>{}</authenticator>\n</account_out>\n",
                       authenticator);
}

std::string not_unique(Database& database, const std::string& email) {
    return account_error(ERR_DB_NOT_UNIQUE, sentence_of_taken(database, email));
}

/// Whether an existing account has this hash. As on BOINC's servers, the account key may be entered
/// for the password.
bool may_sign_in(const StoredAccount& account, const std::string& password_hash) {
    return (!account.key.empty() &&
            is_same_secret(password_hash, md5_of_text(account.key + account.email))) ||
           is_password(account.password_hash, password_hash);
}

}  // namespace

std::string create_account(Database& database, const AccountRequest& asked, double now) {
    const AccountRequest request = cleaned(asked);
    // First, since an account of a former release may have an address that no new one gets.
    if (const auto account = account_at(database, request.email)) {
        return may_sign_in(*account, request.password_hash) ? key_reply(account->key)
                                                            : not_unique(database, request.email);
    }
    if (const auto fault = fault_of(request)) return *fault;
    const std::string authenticator = random_key();
    try {
        database.execute(
            "insert into user (create_time, email_addr, name, authenticator, passwd_hash, "
            "cross_project_id, expavg_time, send_email, show_hosts) "
            "values (?, ?, ?, ?, ?, ?, ?, 0, 1)",
            {static_cast<std::int64_t>(now), request.email, request.name, authenticator,
             slow_hash(request.password_hash), random_key(), now});
    } catch (const DatabaseError& failure) {
        if (!failure.is_duplicate()) throw;
        return not_unique(database, request.email);
    }
    log_info("account {} created", database.insert_id());
    return key_reply(authenticator);
}

std::string look_up_account(Database& database, const AccountRequest& request) {
    const auto account = account_at(database, request.email);
    if (!account) return account_error(ERR_DB_NOT_FOUND, "No account has this e-mail address.");
    if (request.password_hash.empty()) {
        return "<account_out>\n    <success/>\n</account_out>\n";
    }
    if (!may_sign_in(*account, request.password_hash)) {
        return account_error(ERR_BAD_PASSWD, "The password is wrong.");
    }
    return key_reply(account->key);
}

}  // namespace dedloc::server
