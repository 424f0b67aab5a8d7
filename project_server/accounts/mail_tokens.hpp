// Single-use secrets that reach a user by e-mail: to reset a password, to confirm an address. The
// table `token` has only a hash of each.
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

/// A new secret for the account with this e-mail address. Nothing if there is no such account, or
/// if it has kMaxMailTokens already: the visitor must not be told which. Errors: DatabaseError.
std::optional<std::string> begin_by_mail(Database& database, MailPurpose purpose,
                                         const std::string& email, double now);

/// The result of a reset.
struct PasswordReset {
    Refusal refusal;           ///< why not; nothing: it is done
    std::string email;         ///< the account's; empty if refused
    bool has_new_key = false;  ///< the account's computers must be attached again
};
/// Sets a new password with a secret for kReset, which also confirms the address, ends all sessions
/// and voids all secrets of the account. If the address was not confirmed before, the account gets
/// a new key. Errors: DatabaseError, TooBusyError.
PasswordReset reset_password(Database& database, const std::string& secret, const std::string& next,
                             double now);
/// Marks the address as confirmed with a secret for kConfirm. Errors: DatabaseError.
Refusal confirm_email(Database& database, const std::string& secret, double now);
/// Voids a secret that has not reached its account. Errors: DatabaseError.
void withdraw_secret(Database& database, MailPurpose purpose, const std::string& secret);
/// Voids all secrets of an account. Errors: DatabaseError.
void void_mail_tokens(Database& database, std::int64_t user);

}  // namespace dedloc::server
