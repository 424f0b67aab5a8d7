#include "project_server/accounts/accounts.hpp"

#include <config.h>

#include <error_numbers.h>
#include <fmt/format.h>

#include "peer/base/log.hpp"
#include "project_server/accounts/passwords.hpp"
#include "project_server/accounts/sessions.hpp"
#include "project_server/publishing/keys.hpp"

namespace dedloc::server {
namespace {

std::string key_reply(const std::string& authenticator) {
    return fmt::format("<account_out>\n    <authenticator>{}</authenticator>\n</account_out>\n",
                       authenticator);
}

/// The reply for an existing account, given its password. As on BOINC's servers, the account key
/// may be entered for the password.
std::string authenticate(const Row& row, const std::string& password_hash) {
    const std::string& key = row.text("authenticator");
    if (!key.empty() && is_same_secret(password_hash, md5_of_text(key + row.text("email_addr")))) {
        return key_reply(key);
    }
    if (!is_password(row.text("passwd_hash"), password_hash)) {
        return account_error(ERR_BAD_PASSWD, "The password is wrong.");
    }
    return key_reply(row.text("authenticator"));
}

constexpr const char* kExists = "There is an account with this e-mail address already.";
constexpr const char* kFind =
    "select authenticator, email_addr, passwd_hash from user where email_addr = ?";

}  // namespace

std::string create_account(Database& database, const AccountRequest& asked, double now) {
    const AccountRequest request = cleaned(asked);
    if (const auto fault = fault_of(request)) return *fault;
    if (const auto row = database.query_one(kFind, {request.email})) {
        if (is_password(row->text("passwd_hash"), request.password_hash)) {
            return key_reply(row->text("authenticator"));
        }
        return account_error(ERR_DB_NOT_UNIQUE, kExists);
    }
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
        return account_error(ERR_DB_NOT_UNIQUE, kExists);
    }
    log_info("account {} created", database.insert_id());
    return key_reply(authenticator);
}

std::string look_up_account(Database& database, const AccountRequest& request) {
    const auto row = database.query_one(kFind, {clean_email(request.email)});
    if (!row) return account_error(ERR_DB_NOT_FOUND, "No account has this e-mail address.");
    if (request.password_hash.empty()) {
        return "<account_out>\n    <success/>\n</account_out>\n";
    }
    return authenticate(*row, request.password_hash);
}

}  // namespace dedloc::server
