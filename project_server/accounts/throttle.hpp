// Limits on attempts, by account and by the client's address: on failed sign-ins, so that passwords
// cannot be guessed, and on e-mail, so that mailboxes cannot be flooded.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace dedloc::server {

/// Attempts in a window. An IPv6 address stands for its /64.
struct ThrottleLimits {
    int pair;     ///< for an account from one address, so that strangers cannot lock its owner out
    int address;  ///< all accounts together, from one address
    int account;  ///< for an account from all addresses without a sign-in to it
    std::chrono::minutes window;  ///< begins with the first attempt that it counts
};
/// Failed sign-ins.
inline constexpr ThrottleLimits kSignInLimits{
    .pair = 10, .address = 50, .account = 100, .window = std::chrono::minutes{15}};
/// E-mail; counted by the address to which it goes, since an account may change its own.
inline constexpr ThrottleLimits kMailLimits{
    .pair = 5, .address = 100, .account = 20, .window = std::chrono::hours{24}};

/// What attempts are counted for: an account, however its address was typed, or an address without
/// an account. stored_account.hpp finds out which.
std::string account_subject(std::int64_t user);
std::string address_subject(std::string_view email);

/// Counts attempts, in memory. Thread: any.
class Throttle {
  public:
    using Clock = std::chrono::steady_clock;

    explicit Throttle(const ThrottleLimits& limits) : limits_(limits) {}

    /// Another attempt is allowed.
    bool allows(const std::string& subject, const std::string& address, Clock::time_point now);
    /// Counts an attempt, before or after allows().
    void count(const std::string& subject, const std::string& address, Clock::time_point now);
    /// Whether the account has signed in from this address, as far as it is remembered.
    bool has_signed_in(const std::string& subject, const std::string& address);
    /// Forgets the failures of an account from an address after a right password: from there, the
    /// limit over all addresses does not hold for the account any more.
    void signed_in(const std::string& subject, const std::string& address, Clock::time_point now);
    /// Forgets all attempts for an account, after a reset of its password.
    void forgive(const std::string& subject);

  private:
    struct Count {
        int attempts = 0;
        Clock::time_point began;
    };
    bool is_below(const std::string& key, int limit, Clock::time_point now);
    void add(const std::string& key, Clock::time_point now);

    const ThrottleLimits limits_;
    std::mutex mutex_;
    std::map<std::string, Count> counts_;  ///< bounded; the oldest windows end first
    /// Pairs with a sign-in, and its moment; bounded, the oldest are forgotten first.
    std::map<std::string, Clock::time_point> known_;
};

}  // namespace dedloc::server
