#include "peer/net/refusal_log.hpp"

#include <optional>

#include "peer/base/log.hpp"

namespace dedloc::net {

void RefusalLog::refused(const Endpoint& remote, const std::string& why) {
    std::optional<std::uint64_t> number;
    {
        const std::lock_guard lock(mutex_);
        number = limit_.count(why, std::chrono::steady_clock::now());
    }
    if (number) log_info("no link with {}: {} ({} so far)", remote.text(), why, *number);
}

}  // namespace dedloc::net
