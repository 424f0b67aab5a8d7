#include "project_server/accounts/sessions.hpp"

#include <sodium.h>

#include <array>
#include <string_view>

#include "peer/base/bytes.hpp"

namespace dedloc::server {
namespace {

/// token.type of a session; BOINC's own are L, D and E.
constexpr const char* kSession = "S";

/// BLAKE2b of a purpose and a secret.
std::string hash_of(std::string_view purpose, const std::string& secret) {
    const std::string text = std::string{purpose} + ' ' + secret;
    std::array<std::byte, 32> hash{};
    crypto_generichash(reinterpret_cast<unsigned char*>(hash.data()), hash.size(),
                       reinterpret_cast<const unsigned char*>(text.data()), text.size(), nullptr,
                       0);
    return to_hex(hash);
}

std::string stored(const std::string& token) {
    return hash_of("session", token);
}

}  // namespace

std::string stored_secret(std::string_view purpose, const std::string& secret) {
    return hash_of(purpose, secret);
}

std::string random_token() {
    std::array<std::byte, 32> bytes{};
    randombytes_buf(bytes.data(), bytes.size());
    return to_hex(bytes);
}

std::string form_token(const std::string& cookie) {
    return hash_of("form", cookie);
}

std::string begin_session(Database& database, std::int64_t user, double now) {
    const auto seconds = static_cast<std::int64_t>(now);
    database.execute("delete from token where type = ? and expire_time < ? limit 100",
                     {kSession, seconds});
    const std::string token = random_token();
    database.execute(
        "insert into token (token, userid, type, create_time, expire_time) values (?, ?, ?, ?, ?)",
        {stored(token), user, kSession, seconds, seconds + kSessionSeconds});
    return token;
}

std::optional<Session> find_session(Database& database, const std::string& token, double now) {
    if (token.size() != 64) return std::nullopt;
    const auto row = database.query_one(
        "select u.id, u.name from token t join user u on u.id = t.userid "
        "where t.token = ? and t.type = ? and t.expire_time > ?",
        {stored(token), kSession, static_cast<std::int64_t>(now)});
    if (!row) return std::nullopt;
    return Session{.user = row->integer("id"), .name = row->text("name")};
}

void end_session(Database& database, const std::string& token) {
    database.execute("delete from token where token = ? and type = ?", {stored(token), kSession});
}

void end_sessions(Database& database, std::int64_t user) {
    database.execute("delete from token where userid = ? and type = ?", {user, kSession});
}

}  // namespace dedloc::server
