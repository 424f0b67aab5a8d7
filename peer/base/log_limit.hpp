// Log lines about others: they can make something happen as often as they like, and not make us log
// as often.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace dedloc {

/// Counts by reason, one of a few sentences. The first eight of each get a line, then one a minute
/// at most. `Time` is a time point of any clock.
template <class Time>
class LogLimit {
  public:
    /// How many there were for this reason, if this one gets a line.
    std::optional<std::uint64_t> count(const std::string& why, Time now) {
        Reason& reason = reasons_[why];
        if (++reason.count > kFullLines && now < reason.next_line) return {};
        reason.next_line = now + std::chrono::minutes{1};
        return reason.count;
    }

  private:
    static constexpr std::uint64_t kFullLines = 8;
    struct Reason {
        std::uint64_t count = 0;
        Time next_line{};
    };
    std::map<std::string, Reason> reasons_;
};

}  // namespace dedloc
