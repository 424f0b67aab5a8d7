// Which refusals are logged: one in an hour for each account or network, with the number of those
// since. A client asks again and again, and a line for each would hide all others.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace dedloc::gateway {

/// Counts refusals by what is refused. Thread: any.
class RefusalLog {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::hours kPeriod{1};       ///< a line for each in so long
    static constexpr std::size_t kMaxRemembered = 4'096;  ///< the oldest beyond are forgotten

    /// Counts one more refusal. If it is to be logged: how many there were since the last line,
    /// with this one.
    std::optional<std::uint64_t> count(const std::string& holder, Clock::time_point now);

  private:
    struct Entry {
        Clock::time_point logged;    ///< when its last line was written
        std::uint64_t unlogged = 0;  ///< refusals since
    };
    void forget_oldest();

    std::mutex mutex_;
    std::map<std::string, Entry> entries_;  ///< guarded by mutex_
};

}  // namespace dedloc::gateway
