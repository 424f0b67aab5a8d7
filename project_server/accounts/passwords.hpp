// Passwords: BOINC's quick hash, which clients send, and the slow hash of it, which is stored.
#pragma once

#include <string>

namespace dedloc::server {

/// What BOINC's clients send instead of a password: MD5(password + e-mail in lower case), in hex.
std::string boinc_password_hash(const std::string& password, const std::string& email);

/// Argon2id of a secret, with a random salt, and the check of one. At most 3 are computed at once,
/// each in 64 MiB; other callers wait. Routes get a turn for it first (hash_turns.hpp), and wait
/// there without a connection to the database. Errors: Error without memory. Thread: any. Cost:
/// about 50 ms of a processor.
std::string slow_hash(const std::string& secret);
bool is_password(const std::string& hash, const std::string& secret);

/// A random text of 32 hex digits, for example an account's key.
std::string random_key();

}  // namespace dedloc::server
