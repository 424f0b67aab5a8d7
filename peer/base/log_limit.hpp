// Limits log lines about events that other peers can cause as often as they like.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace dedloc {

/// Counts events by reason, which must be one of a few fixed sentences. The first eight events of a
/// reason are logged, later ones at most once a minute. `Time` is a time point of any clock.
template <class Time>
class LogLimit {
  public:
    /// Counts one event. Returns the number of events with this reason so far if this event is to
    /// be logged, else nothing.
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
