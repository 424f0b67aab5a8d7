#include "project_server/gateway/refusal_log.hpp"

#include <algorithm>
#include <utility>

namespace dedloc::gateway {

void RefusalLog::forget_oldest() {
    entries_.erase(std::ranges::min_element(entries_, {},
                                            [](const auto& entry) { return entry.second.logged; }));
}

std::optional<std::uint64_t> RefusalLog::count(const std::string& holder, Clock::time_point now) {
    const std::lock_guard lock{mutex_};
    const auto found = entries_.find(holder);
    if (found == entries_.end()) {
        if (entries_.size() == kMaxRemembered) forget_oldest();
        entries_.emplace(holder, Entry{.logged = now});
        return 1;
    }
    Entry& entry = found->second;
    ++entry.unlogged;
    if (now - entry.logged < kPeriod) return std::nullopt;
    entry.logged = now;
    return std::exchange(entry.unlogged, 0);
}

}  // namespace dedloc::gateway
