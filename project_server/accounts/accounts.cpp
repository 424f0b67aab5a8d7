#include "project_server/accounts/accounts.hpp"

#include <config.h>

#include <error_numbers.h>
#include <fmt/format.h>

#include "project_server/accounts/new_account.hpp"
#include "project_server/accounts/passwords.hpp"
#include "project_server/database/account_keys.hpp"
#include "project_server/publishing/keys.hpp"

namespace dedloc::server {
namespace {

AccountReply key_reply(std::int64_t user, const std::string& authenticator) {
    return {.text = fmt::format(
                "<account_out>\n    <authenticator>{}</authenticator>\n</account_out>\n",
                authenticator),
            .user = user};
}

AccountReply error_reply(int number, std::string_view sentence) {
    return {.text = account_error(number, sentence)};
}

AccountReply not_unique(const std::optional<StoredAccount>& account) {
    return error_reply(ERR_DB_NOT_UNIQUE, sentence_of_taken(account));
}

/// Whether an existing account has this hash. As on BOINC's servers, the account key may be entered
/// for the password.
bool may_sign_in(const StoredAccount& account, const std::string& password_hash) {
    return (!account.key.empty() &&
            is_same_secret(password_hash, md5_of_text(account.key + account.email))) ||
           (!password_hash.empty() && is_password(account.password_hash, password_hash));
}

}  // namespace

AccountReply create_account(Database& database, const std::optional<StoredAccount>& account,
                            const AccountRequest& asked, double now) {
    const AccountRequest request = cleaned(asked);
    // First, since an account of a former release may have an address that no new one gets.
    if (account) {
        return may_sign_in(*account, request.password_hash) ? key_reply(account->id, account->key)
                                                            : not_unique(account);
    }
    if (const auto fault = fault_of(request)) return {.text = *fault};
    const NewAccount made = make_account(database, request, now);
    switch (made.outcome) {
        case AccountOutcome::kMade:
            return key_reply(made.user, made.key);
        case AccountOutcome::kTaken:
            return error_reply(ERR_DB_NOT_UNIQUE, made.refusal);
        case AccountOutcome::kNoCode:
        case AccountOutcome::kWrongCode:
            break;
    }
    AccountReply refused = error_reply(kInvalidInvitation, made.refusal);
    refused.is_wrong_code = made.outcome == AccountOutcome::kWrongCode;
    return refused;
}

AccountReply look_up_account(const std::optional<StoredAccount>& account,
                             const AccountRequest& request) {
    if (!account) return error_reply(ERR_DB_NOT_FOUND, "No account has this e-mail address.");
    if (request.password_hash.empty()) {
        return {.text = "<account_out>\n    <success/>\n</account_out>\n"};
    }
    if (!may_sign_in(*account, request.password_hash)) {
        return error_reply(ERR_BAD_PASSWD, "The password is wrong.");
    }
    return key_reply(account->id, account->key);
}

}  // namespace dedloc::server
