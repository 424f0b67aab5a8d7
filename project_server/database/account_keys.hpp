// The keys of an account as its computers present them. BOINC has two: the account key, which also
// changes the account, and the weak account key, which only attaches computers. An account manager
// may give the weak one to computers that it does not trust. It is
//
//     USER_ID _ MD5(account key + user.passwd_hash)
//
// as a BOINC server computes it, and so another one after every change of the password, of the
// e-mail address, whose password hash changes with it, and of the account key. Code that writes
// passwd_hash for any other reason would cut these computers off.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Compares two secrets in constant time. An empty one equals no other, not even an empty one.
bool is_same_secret(const std::string& left, const std::string& right);

/// What an account's keys follow from: columns of `user`.
struct KeyColumns {
    std::int64_t user = 0;      ///< user.id
    std::string authenticator;  ///< the account key; empty: the account has no keys
    std::string password_hash;  ///< user.passwd_hash, whatever kind of hash it is
};

/// The weak account key; empty for an account without a key.
std::string weak_account_key(const KeyColumns& account);

/// Whether the text has the form of a weak account key. No account key contains '_'.
bool is_weak_form(const std::string& key);

/// Whether `key` is the account's key or its weak one. Compares in constant time.
bool is_key_of(const std::string& key, const KeyColumns& account);

/// The account key that belongs to a weak one; nothing if it is no account's. It must not leave the
/// server: the sender of a weak key may not know it.
///
/// Errors   DatabaseError
/// Cost     one statement, by the primary key
std::optional<std::string> account_key_of(Database& database, const std::string& weak_key);

}  // namespace dedloc::server
