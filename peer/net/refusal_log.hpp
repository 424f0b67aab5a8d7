// Log lines about strangers: they can make us refuse as often as they like, and not log as often.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "peer/wire/types.hpp"

namespace dedloc::net {

/// Thread: any.
class RefusalLog final {
  public:
    using Time = std::chrono::steady_clock::time_point;

    /// Counts by reason, one of a few sentences. The first ones of each get a line, then one a
    /// minute at most.
    void refused(const Endpoint& remote, const std::string& why);
    /// The same without the line: how many there were if this one gets one.
    std::optional<std::uint64_t> count(const std::string& why, Time now);

  private:
    struct Reason {
        std::uint64_t count = 0;
        Time next_line{};
    };

    std::mutex mutex_;
    std::map<std::string, Reason> reasons_;
};

}  // namespace dedloc::net
