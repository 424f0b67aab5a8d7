// Sessions of users who have signed in on the web pages, and CSRF tokens of forms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// How long a session lasts, in seconds.
inline constexpr std::int64_t kSessionSeconds = 30 * 86'400;

/// A random text of 64 hex digits: 256 bits.
std::string random_token();

/// The token in the forms of a browser with this cookie. It cannot be computed without the cookie,
/// nor the cookie from it.
std::string form_token(const std::string& cookie);

/// What the table `token` has of a secret: a hash, which differs by purpose.
std::string stored_secret(std::string_view purpose, const std::string& secret);

/// A signed-in user.
struct Session {
    std::int64_t user = 0;  ///< user.id
    std::string name;       ///< user.name
};

/// Starts a session and returns its new token, for the browser's cookie. The database has only a
/// hash of it. Times in UTC seconds. Errors: DatabaseError.
std::string begin_session(Database& database, std::int64_t user, double now);
/// The session of a token; nothing if there is none or it has expired. Errors: DatabaseError.
std::optional<Session> find_session(Database& database, const std::string& token, double now);
/// Ends one session, or all of a user.
void end_session(Database& database, const std::string& token);
void end_sessions(Database& database, std::int64_t user);

}  // namespace dedloc::server
