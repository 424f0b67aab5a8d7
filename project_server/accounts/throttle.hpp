// Limits on failed sign-ins, by account and by address, so that passwords cannot be guessed.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <unordered_map>

namespace dedloc::server {

/// Counts failures in windows of 15 minutes, in memory. Thread: any.
class Throttle {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr int kPerAccount = 10;  ///< failures in a window
    static constexpr int kPerAddress = 50;  ///< failures in a window
    static constexpr std::chrono::minutes kWindow{15};

    /// Another attempt is allowed. An IPv6 address stands for its /64.
    bool allows(const std::string& email, const std::string& address, Clock::time_point now);
    /// Counts a failed attempt, before or after allows().
    void count_failure(const std::string& email, const std::string& address, Clock::time_point now);
    /// Forgets an account's failures after a right password.
    void forgive(const std::string& email);

  private:
    struct Count {
        int failures = 0;
        Clock::time_point began;
    };
    bool is_below(const std::string& key, int limit, Clock::time_point now);
    void add(const std::string& key, Clock::time_point now);

    std::mutex mutex_;
    std::unordered_map<std::string, Count> counts_;  ///< bounded; the oldest windows end first
};

}  // namespace dedloc::server
