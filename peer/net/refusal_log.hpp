// Log lines about strangers: they can make us refuse as often as they like, and not log as often.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "peer/wire/types.hpp"

namespace dedloc::net {

/// Thread: any.
class RefusalLog final {
  public:
    /// Counts by reason, one of a few sentences. The first ones of each get a line, then every
    /// thousandth.
    void refused(const Endpoint& remote, const std::string& why);

  private:
    std::mutex mutex_;
    std::map<std::string, std::uint64_t> counts_;
};

}  // namespace dedloc::net
