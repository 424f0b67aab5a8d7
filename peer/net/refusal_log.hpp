// Log lines about strangers whom no link came about with.
#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include "peer/base/log_limit.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::net {

/// Thread: any.
class RefusalLog final {
  public:
    /// `why` is one of a few sentences: not each time is worth a line.
    void refused(const Endpoint& remote, const std::string& why);

  private:
    std::mutex mutex_;
    LogLimit<std::chrono::steady_clock::time_point> limit_;
};

}  // namespace dedloc::net
