#include "project_server/database/account_keys.hpp"

#include <config.h>

#include <md5_file.h>
#include <sodium.h>

#include "peer/base/text.hpp"

namespace dedloc::server {
namespace {

constexpr char kSeparator = '_';
constexpr std::size_t kMaxIdDigits = 10;  // user.id is an INTEGER

/// The id that a weak key names, written as the server writes it; nothing for another text.
std::optional<std::int64_t> user_in(const std::string& weak_key) {
    const std::string digits = weak_key.substr(0, weak_key.find(kSeparator));
    if (digits.empty() || digits.size() > kMaxIdDigits) return std::nullopt;
    const auto user = parse_number<std::int64_t>(digits);
    return user && *user > 0 ? user : std::nullopt;
}

}  // namespace

bool is_same_secret(const std::string& left, const std::string& right) {
    return left.size() == right.size() && !left.empty() &&
           sodium_memcmp(left.data(), right.data(), left.size()) == 0;
}

std::string weak_account_key(const KeyColumns& account) {
    if (account.authenticator.empty()) return {};
    const std::string secret = account.authenticator + account.password_hash;
    return std::to_string(account.user) + kSeparator +
           md5_string(reinterpret_cast<const unsigned char*>(secret.data()),
                      static_cast<int>(secret.size()));
}

bool is_weak_form(const std::string& key) {
    return key.find(kSeparator) != std::string::npos;
}

bool is_key_of(const std::string& key, const KeyColumns& account) {
    return is_same_secret(key,
                          is_weak_form(key) ? weak_account_key(account) : account.authenticator);
}

std::optional<std::string> account_key_of(Database& database, const std::string& weak_key) {
    const auto user = user_in(weak_key);
    if (!user) return std::nullopt;
    const auto row =
        database.query_one("select authenticator, passwd_hash from user where id = ?", {*user});
    if (!row) return std::nullopt;
    const KeyColumns account{.user = *user,
                             .authenticator = row->text("authenticator"),
                             .password_hash = row->text("passwd_hash")};
    if (!is_weak_form(weak_key) || !is_key_of(weak_key, account)) return std::nullopt;
    return account.authenticator;
}

}  // namespace dedloc::server
