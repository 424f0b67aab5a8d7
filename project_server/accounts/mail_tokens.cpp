// A secret begins with the account's id and goes on with 192 random bits. The table `token` has
// only a hash of it and of the address to which it was sent, so it is found through the account's
// row, with the address that this has now: a secret that was sent elsewhere has no row. A secret is
// used by deleting its row: of two requests only one deletes it. The row is deleted in the
// transaction of the change, so a failure in between loses neither.
#include "project_server/accounts/mail_tokens.hpp"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "project_server/accounts/passwords.hpp"
#include "project_server/accounts/sessions.hpp"
#include "project_server/accounts/stored_account.hpp"

namespace dedloc::server {
namespace {

constexpr std::int64_t kResetSeconds = 3'600;
constexpr std::int64_t kConfirmSeconds = 3 * 86'400;
constexpr const char* kUnknown =
    "This link is not valid any more: it is used or too old. Ask for a new one.";

/// token.type; BOINC's own are L, D and E, sessions are S.
const char* type_of(MailPurpose purpose) {
    return purpose == MailPurpose::kReset ? "R" : "C";
}

constexpr std::size_t kSecretDigits = 64;
constexpr std::size_t kIdDigits = 16;

std::string new_secret(std::int64_t user) {
    return fmt::format("{:0{}x}", user, kIdDigits) + random_token().substr(kIdDigits);
}

/// The account of a secret; 0 if it is none.
std::int64_t account_of(const std::string& secret) {
    if (secret.size() != kSecretDigits) return 0;
    std::int64_t user = 0;
    const char* const end = secret.data() + kIdDigits;
    const auto [rest, error] = std::from_chars(secret.data(), end, user, 16);
    return error == std::errc{} && rest == end ? user : 0;
}

std::string stored(MailPurpose purpose, const std::string& secret, const std::string& address) {
    return stored_secret(type_of(purpose), secret + ' ' + address);
}

/// Deletes the secret's row and returns its account, locked; nothing if it is not valid.
std::optional<StoredAccount> take(Database& database, MailPurpose purpose,
                                  const std::string& secret, double now) {
    const std::int64_t user = account_of(secret);
    auto account = user > 0 ? account_with_id(database, user, true) : std::nullopt;
    if (!account) return std::nullopt;
    const auto taken = database.execute(
        "delete from token where token = ? and userid = ? and type = ? and expire_time > ?",
        {stored(purpose, secret, account->email), user, type_of(purpose),
         static_cast<std::int64_t>(now)});
    return taken == 1 ? account : std::nullopt;
}

}  // namespace

std::optional<MailedSecret> begin_by_mail(Database& database, MailPurpose purpose,
                                          const std::string& email, double now, std::int64_t user) {
    const auto seconds = static_cast<std::int64_t>(now);
    const char* const type = type_of(purpose);
    return in_transaction(database, [&]() -> std::optional<MailedSecret> {
        const auto account = account_at(database, email, true);
        if (!account || (user != 0 && account->id != user)) return std::nullopt;
        database.execute("delete from token where type = ? and expire_time < ? limit 100",
                         {type, seconds});
        const auto valid = database.query_one(
            "select count(*) as n from token where userid = ? and type = ?", {account->id, type});
        if (valid->integer("n") >= kMaxMailTokens) return std::nullopt;
        MailedSecret secret{.address = account->email, .text = new_secret(account->id)};
        database.execute(
            "insert into token (token, userid, type, create_time, expire_time) "
            "values (?, ?, ?, ?, ?)",
            {stored(purpose, secret.text, secret.address), account->id, type, seconds,
             seconds + (purpose == MailPurpose::kReset ? kResetSeconds : kConfirmSeconds)});
        return secret;
    });
}

PasswordReset reset_password(Database& database, const std::string& secret, const std::string& next,
                             double now) {
    const auto refused = [](Refusal why) { return PasswordReset{.refusal = std::move(why)}; };
    if (Refusal fault = password_fault(next)) return refused(std::move(fault));
    return in_transaction(database, [&]() -> PasswordReset {
        const auto account = take(database, MailPurpose::kReset, secret, now);
        if (!account) return refused(kUnknown);
        if (Refusal refusal = set_password(database, account->id, next)) {
            return refused(std::move(refusal));
        }
        // An address that was never confirmed may have been entered by a stranger, who has the key.
        const bool has_new_key = !account->is_confirmed;
        if (has_new_key) {
            database.execute("update user set authenticator = ?, email_validated = 1 where id = ?",
                             {random_key(), account->id});
        }
        return {.refusal = {}, .user = account->id, .has_new_key = has_new_key};
    });
}

Refusal confirm_email(Database& database, const std::string& secret, double now) {
    return in_transaction(database, [&]() -> Refusal {
        const auto account = take(database, MailPurpose::kConfirm, secret, now);
        if (!account) return kUnknown;
        database.execute("update user set email_validated = 1 where id = ?", {account->id});
        return std::nullopt;
    });
}

void withdraw_secret(Database& database, MailPurpose purpose, const MailedSecret& secret) {
    database.execute("delete from token where token = ?",
                     {stored(purpose, secret.text, secret.address)});
}

void void_mail_tokens(Database& database, std::int64_t user) {
    database.execute("delete from token where userid = ? and type in ('R', 'C')", {user});
}

}  // namespace dedloc::server
