// LogLimit counts each reason and decides which occurrences are logged. The lock is there because
// the log may be shared by threads.
#include "peer/net/tcp/refusal_log.hpp"

#include "peer/base/log.hpp"

namespace dedloc::net {

void RefusalLog::refused(const Endpoint& remote, const std::string& why) {
    if (const auto number = count(why)) {
        log_info("no link with {}: {} ({} so far)", name_of(remote), why, *number);
    }
}

void RefusalLog::widened(const Endpoint& remote) {
    if (const auto number = count("widened")) {
        log_info("loss limits the link with {}: it gets more connections ({} so far)",
                 name_of(remote), *number);
    }
}

void RefusalLog::not_widened(const Endpoint& remote, const std::string& why) {
    if (const auto number = count(why)) {
        log_info("no further connection for the link with {}: {} ({} so far)", name_of(remote), why,
                 *number);
    }
}

void RefusalLog::accept_failed(const std::string& why) {
    if (const auto number = count(why)) {
        log_warning("no connection can be accepted: {}; trying again ({} times so far)", why,
                    *number);
    }
}

std::string RefusalLog::name_of(const Endpoint& remote) const {
    return logs_addresses_ ? remote.text() : "a peer";
}

std::optional<std::uint64_t> RefusalLog::count(const std::string& why) {
    const std::lock_guard lock(mutex_);
    return limit_.count(why, std::chrono::steady_clock::now());
}

}  // namespace dedloc::net
