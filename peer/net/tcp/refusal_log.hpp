// Log lines about strangers whom no link came about with.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "peer/base/log_limit.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::net {

/// Thread: any.
class RefusalLog final {
  public:
    /// `why` is one of a few sentences: not each time is worth a line.
    void refused(const Endpoint& remote, const std::string& why);
    /// No incoming connection can be taken, whoever dials; `why` as above.
    void accept_failed(const std::string& why);

  private:
    std::optional<std::uint64_t> count(const std::string& why);

    std::mutex mutex_;
    LogLimit<std::chrono::steady_clock::time_point> limit_;
};

}  // namespace dedloc::net
