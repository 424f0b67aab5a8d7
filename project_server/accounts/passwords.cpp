#include "project_server/accounts/passwords.hpp"

#include <sodium.h>

#include <array>
#include <semaphore>

#include "peer/base/bytes.hpp"
#include "peer/base/error.hpp"
#include "project_server/email_address.hpp"
#include "project_server/publishing/keys.hpp"

namespace dedloc::server {
namespace {

constexpr int kAtOnce = 3;

/// A place among the hashes that are computed at once, from construction to destruction. It bounds
/// memory also for callers without a turn.
class HashPlace {
  public:
    HashPlace() { places().acquire(); }
    ~HashPlace() { places().release(); }
    HashPlace(const HashPlace&) = delete;
    HashPlace& operator=(const HashPlace&) = delete;

  private:
    static std::counting_semaphore<kAtOnce>& places() {
        static std::counting_semaphore<kAtOnce> all{kAtOnce};
        return all;
    }
};

}  // namespace

std::string boinc_password_hash(const std::string& password, const std::string& email) {
    return md5_of_text(password + clean_email(email));
}

std::string slow_hash(const std::string& secret) {
    const HashPlace place;
    std::array<char, crypto_pwhash_STRBYTES> hash{};
    if (crypto_pwhash_str(hash.data(), secret.data(), secret.size(),
                          crypto_pwhash_OPSLIMIT_INTERACTIVE,
                          crypto_pwhash_MEMLIMIT_INTERACTIVE) != 0) {
        throw Error("There is not enough memory to hash a password.");
    }
    return hash.data();
}

bool is_password(const std::string& hash, const std::string& secret) {
    const HashPlace place;
    return crypto_pwhash_str_verify(hash.c_str(), secret.data(), secret.size()) == 0;
}

std::string random_key() {
    std::array<std::byte, 16> bytes{};
    randombytes_buf(bytes.data(), bytes.size());
    return to_hex(bytes);
}

}  // namespace dedloc::server
