#include "project_server/accounts/passwords.hpp"

#include <sodium.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "peer/base/bytes.hpp"
#include "project_server/accounts/email_address.hpp"
#include "project_server/publishing/keys.hpp"

namespace dedloc::server {
namespace {

constexpr int kAtOnce = 3;
constexpr int kWaiting = 3;
constexpr std::chrono::seconds kWait{5};

/// A place among the hashes that are computed at once, from construction to destruction.
class HashPlace {
  public:
    HashPlace() {
        std::unique_lock lock{places().mutex};
        Places& all = places();
        if (all.taken >= kAtOnce && all.waiting >= kWaiting) throw TooBusyError{};
        ++all.waiting;
        const bool has_place =
            all.changed.wait_for(lock, kWait, [&] { return all.taken < kAtOnce; });
        --all.waiting;
        if (!has_place) throw TooBusyError{};
        ++all.taken;
    }
    ~HashPlace() {
        {
            const std::lock_guard lock{places().mutex};
            --places().taken;
        }
        places().changed.notify_one();
    }
    HashPlace(const HashPlace&) = delete;
    HashPlace& operator=(const HashPlace&) = delete;

  private:
    struct Places {
        std::mutex mutex;
        std::condition_variable changed;
        int taken = 0;
        int waiting = 0;
    };
    static Places& places() {
        static Places all;
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
