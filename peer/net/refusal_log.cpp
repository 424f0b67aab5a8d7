#include "peer/net/refusal_log.hpp"

#include "peer/base/log.hpp"

namespace dedloc::net {

namespace {

constexpr std::uint64_t kFullLines = 8;
constexpr std::uint64_t kLineEvery = 1'000;

}  // namespace

void RefusalLog::refused(const Endpoint& remote, const std::string& why) {
    std::uint64_t count = 0;
    {
        const std::lock_guard lock(mutex_);
        count = ++counts_[why];
    }
    if (count > kFullLines && count % kLineEvery != 0) return;
    log_info("no link with {}: {} ({} so far)", remote.text(), why, count);
}

}  // namespace dedloc::net
