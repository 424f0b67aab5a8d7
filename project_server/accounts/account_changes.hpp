// What users do with their own accounts on the web pages. Each function that may refuse returns a
// sentence for the user then, and nothing when it is done. Errors: DatabaseError.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Why something was refused: one sentence for the user. Nothing: it was done.
using Refusal = std::optional<std::string>;

/// A password has at least this many bytes, as get_project_config.php says, and at most the second.
inline constexpr std::size_t kMinPassword = 6;
inline constexpr std::size_t kMaxPassword = 256;

/// The user with this e-mail address and password; nothing if there is none.
std::optional<std::int64_t> user_of(Database& database, const std::string& email,
                                    const std::string& password);
/// Whether it is the password of a user.
bool has_password(Database& database, std::int64_t user, const std::string& password);

/// The result of a registration.
struct Registration {
    std::int64_t user = 0;       ///< user.id of the new account; 0 if refused
    Refusal refusal;             ///< why not
    bool is_wrong_code = false;  ///< refused for its invitation code, which may be a guess
};
/// What the form of a registration has.
struct RegistrationForm {
    std::string email{};       ///< as typed
    std::string name{};        ///< shown to all
    std::string password{};    ///< itself, not a hash
    std::string invitation{};  ///< invitation code as typed; may be empty where accounts are open
};
/// Makes an account. It refuses an e-mail address that has one already, whatever the password.
Registration register_user(Database& database, const RegistrationForm& form, double now);

/// Changes the e-mail address. The password's hash depends on it, so the password is needed.
Refusal change_email(Database& database, std::int64_t user, const std::string& password,
                     const std::string& email, double now);
/// Changes the password and ends all sessions of the user.
Refusal change_password(Database& database, std::int64_t user, const std::string& password,
                        const std::string& next);

/// Why it cannot be a password; nothing: it can.
Refusal password_fault(const std::string& password);
/// Sets a password without the old one, ends all sessions of the user and voids links from e-mail.
/// Inside a transaction.
Refusal set_password(Database& database, std::int64_t user, const std::string& next);

/// What a user may choose.
struct Preferences {
    std::string name;          ///< shown to all
    std::string country;       ///< free text, empty: not stated
    std::string url;           ///< web page; shown if it is an http address
    bool shows_hosts = true;   ///< computers and what they do are shown
    bool takes_email = false;  ///< the project may write
    std::string venue;         ///< that new computers get; empty: none
};
/// Reads or writes them.
Preferences read_preferences(Database& database, std::int64_t user);
Refusal write_preferences(Database& database, std::int64_t user, const Preferences& preferences);

}  // namespace dedloc::server
