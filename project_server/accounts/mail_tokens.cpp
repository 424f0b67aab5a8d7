// A secret is used by deleting its row: of two requests only one deletes it. The row is deleted in
// the transaction of the change, so a failure in between loses neither.
#include "project_server/accounts/mail_tokens.hpp"

#include <utility>

#include "project_server/accounts/account_request.hpp"
#include "project_server/accounts/passwords.hpp"
#include "project_server/accounts/sessions.hpp"

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

/// Deletes the secret's row and returns its account; nothing if it is not valid.
std::optional<std::int64_t> take(Database& database, MailPurpose purpose, const std::string& secret,
                                 double now) {
    if (secret.size() != 64) return std::nullopt;
    const std::string stored = stored_secret(type_of(purpose), secret);
    const auto row = database.query_one(
        "select userid from token where token = ? and type = ? and expire_time > ? for update",
        {stored, type_of(purpose), static_cast<std::int64_t>(now)});
    if (!row) return std::nullopt;
    database.execute("delete from token where token = ?", {stored});
    return row->integer("userid");
}

}  // namespace

std::optional<std::string> begin_by_mail(Database& database, MailPurpose purpose,
                                         const std::string& email, double now) {
    const auto seconds = static_cast<std::int64_t>(now);
    const char* const type = type_of(purpose);
    return in_transaction(database, [&]() -> std::optional<std::string> {
        database.execute("delete from token where type = ? and expire_time < ? limit 100",
                         {type, seconds});
        const auto user = database.query_one("select id from user where email_addr = ? for update",
                                             {clean_email(email)});
        if (!user) return std::nullopt;
        const auto valid =
            database.query_one("select count(*) as n from token where userid = ? and type = ?",
                               {user->integer("id"), type});
        if (valid->integer("n") >= kMaxMailTokens) return std::nullopt;
        const std::string secret = random_token();
        database.execute(
            "insert into token (token, userid, type, create_time, expire_time) "
            "values (?, ?, ?, ?, ?)",
            {stored_secret(type, secret), user->integer("id"), type, seconds,
             seconds + (purpose == MailPurpose::kReset ? kResetSeconds : kConfirmSeconds)});
        return secret;
    });
}

PasswordReset reset_password(Database& database, const std::string& secret, const std::string& next,
                             double now) {
    const auto refused = [](Refusal why) {
        return PasswordReset{.refusal = std::move(why), .email = {}};
    };
    if (Refusal fault = password_fault(next)) return refused(std::move(fault));
    return in_transaction(database, [&]() -> PasswordReset {
        const auto user = take(database, MailPurpose::kReset, secret, now);
        if (!user) return refused(kUnknown);
        if (Refusal refusal = set_password(database, *user, next)) {
            return refused(std::move(refusal));
        }
        const auto row = database.query_one(
            "select email_addr, email_validated from user where id = ?", {*user});
        // An address that was never confirmed may have been entered by a stranger, who has the key.
        const bool has_new_key = row->integer("email_validated") == 0;
        if (has_new_key) {
            database.execute("update user set authenticator = ?, email_validated = 1 where id = ?",
                             {random_key(), *user});
        }
        return {.refusal = {}, .email = row->text("email_addr"), .has_new_key = has_new_key};
    });
}

Refusal confirm_email(Database& database, const std::string& secret, double now) {
    return in_transaction(database, [&]() -> Refusal {
        const auto user = take(database, MailPurpose::kConfirm, secret, now);
        if (!user) return kUnknown;
        database.execute("update user set email_validated = 1 where id = ?", {*user});
        return std::nullopt;
    });
}

void withdraw_secret(Database& database, MailPurpose purpose, const std::string& secret) {
    database.execute("delete from token where token = ?",
                     {stored_secret(type_of(purpose), secret)});
}

void void_mail_tokens(Database& database, std::int64_t user) {
    database.execute("delete from token where userid = ? and type in ('R', 'C')", {user});
}

}  // namespace dedloc::server
