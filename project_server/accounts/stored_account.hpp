// Finds the account that an e-mail address names. The database may compare addresses by a collation
// that takes different letters, blanks and zero-width characters for the same, so what it finds is
// compared by bytes here, and nothing else looks accounts up by their address.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// An account as the database has it.
struct StoredAccount {
    std::int64_t id = 0;        ///< user.id
    std::string email;          ///< e-mail goes here and nowhere else
    std::string password_hash;  ///< passwords.hpp
    std::string key;            ///< the authenticator of BOINC's clients
    bool is_confirmed = false;  ///< a link that was sent to `email` has been used
};

/// The account whose address has the bytes of clean_email(typed), ASCII letters in any case.
/// Nothing if there is none. `is_locked`: inside a transaction, until its end. Errors:
/// DatabaseError.
std::optional<StoredAccount> account_at(Database& database, std::string_view typed,
                                        bool is_locked = false);
/// The account with an id. `is_locked`: as above.
std::optional<StoredAccount> account_with_id(Database& database, std::int64_t user,
                                             bool is_locked = false);

// Each takes the account that an address names, which account_at() has found.

/// Why the unique key of the table has refused an address: a sentence for the user. Its account has
/// this address, or the database's collation takes another one for the same.
std::string sentence_of_taken(const std::optional<StoredAccount>& account);
/// What limits on sign-ins (Throttle) count by: the account's id if the address has one.
std::string sign_in_subject(const std::optional<StoredAccount>& account, std::string_view typed);
/// What limits on e-mail count by: the address in the account's row if there is one.
std::string mailbox_subject(const std::optional<StoredAccount>& account, std::string_view typed);

}  // namespace dedloc::server
