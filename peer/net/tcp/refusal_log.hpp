// Rate-limited log lines about connections that did not become links.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "peer/base/log_limit.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::net {

/// Logs each reason the first eight times and then once a minute. Thread: any.
class RefusalLog final {
  public:
    /// `logs_addresses`: lines name the address of `remote`.
    explicit RefusalLog(bool logs_addresses) : logs_addresses_(logs_addresses) {}

    /// A connection with `remote` was refused. `why` must be one of a small set of sentences, since
    /// the limit counts per sentence.
    void refused(const Endpoint& remote, const std::string& why);
    /// Loss limits the link with `remote`, so more connections are attached to it.
    void widened(const Endpoint& remote);
    /// A connection could not be attached to the link with `remote`; `why` as above.
    void not_widened(const Endpoint& remote, const std::string& why);
    /// Accepting failed for all incoming connections; `why` as above.
    void accept_failed(const std::string& why);

  private:
    std::string name_of(const Endpoint& remote) const;
    std::optional<std::uint64_t> count(const std::string& why);

    const bool logs_addresses_;
    std::mutex mutex_;
    LogLimit<std::chrono::steady_clock::time_point> limit_;
};

}  // namespace dedloc::net
