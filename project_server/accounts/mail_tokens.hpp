// Single-use secrets that reach a user by e-mail: to reset a password, to confirm an address. A
// secret belongs to an account and to the address that the account had when it was made; once the
// account has another one, whatever program changed it, the secret is void.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "project_server/accounts/account_changes.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::server {

/// What a secret is for.
enum class MailPurpose : std::uint8_t {
    kReset,   ///< set a new password, within an hour
    kConfirm  ///< confirm the address, within three days
};

/// Secrets of one account and purpose that may be valid at a time; more are not made, so a stranger
/// cannot flood a mailbox.
inline constexpr int kMaxMailTokens = 3;

/// A secret that is on its way.
struct MailedSecret {
    std::string address;  ///< the one in the account's row: the secret goes there alone
    std::string text;     ///< 64 hex digits
};

/// A new secret for the account with this e-mail address (account_at). Nothing if there is no such
/// account, if it is not the one with the id `user` (0: any), or if it has kMaxMailTokens already:
/// the visitor must not be told which. Errors: DatabaseError.
std::optional<MailedSecret> begin_by_mail(Database& database, MailPurpose purpose,
                                          const std::string& email, double now,
                                          std::int64_t user = 0);

/// The result of a reset.
struct PasswordReset {
    Refusal refusal;           ///< why not; nothing: it is done
    std::int64_t user = 0;     ///< the account; 0 if refused
    bool has_new_key = false;  ///< the account's computers must be attached again
};
/// Sets a new password with a secret for kReset, which also confirms the address, ends all sessions
/// and voids all secrets of the account. If the address was not confirmed before, the account gets
/// a new key. Errors: DatabaseError.
PasswordReset reset_password(Database& database, const std::string& secret, const std::string& next,
                             double now);
/// Marks the address to which a secret for kConfirm was sent as confirmed. Errors: DatabaseError.
Refusal confirm_email(Database& database, const std::string& secret, double now);
/// Voids a secret that has not reached its account. Errors: DatabaseError.
void withdraw_secret(Database& database, MailPurpose purpose, const MailedSecret& secret);
/// Voids all secrets of an account. Errors: DatabaseError.
void void_mail_tokens(Database& database, std::int64_t user);

}  // namespace dedloc::server
