#include "peer/net/refusal_log.hpp"

#include "peer/base/log.hpp"

namespace dedloc::net {

namespace {

constexpr std::uint64_t kFullLines = 8;
constexpr std::chrono::minutes kLineEvery{1};

}  // namespace

void RefusalLog::refused(const Endpoint& remote, const std::string& why) {
    const auto number = count(why, std::chrono::steady_clock::now());
    if (number) log_info("no link with {}: {} ({} so far)", remote.text(), why, *number);
}

std::optional<std::uint64_t> RefusalLog::count(const std::string& why, Time now) {
    const std::lock_guard lock(mutex_);
    Reason& reason = reasons_[why];
    if (++reason.count > kFullLines && now < reason.next_line) return {};
    reason.next_line = now + kLineEvery;
    return reason.count;
}

}  // namespace dedloc::net
