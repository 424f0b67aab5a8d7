#include "project_server/web/answer_cache.hpp"

#include <utility>

namespace dedloc::server {
namespace {

/// More than a project has leaderboards' pages and runs.
constexpr std::size_t kMaxEntries = 2048;

}  // namespace

AnswerCache::Pointer AnswerCache::get(const std::string& key, Clock::duration life,
                                      const Compute& compute) {
    Lock lock{mutex_};
    for (;;) {
        const auto found = entries_.find(key);
        if (found == entries_.end()) break;
        const Entry& entry = found->second;
        if (entry.answer && (entry.is_computing || Clock::now() < entry.expires)) {
            return entry.answer;
        }
        if (!entry.is_computing) break;
        computed_.wait(lock);
    }
    return renew(lock, key, life, compute);
}

AnswerCache::Pointer AnswerCache::renew(Lock& lock, const std::string& key, Clock::duration life,
                                        const Compute& compute) {
    bound_size();
    entries_[key].is_computing = true;
    lock.unlock();
    std::optional<Answer> answer;
    try {
        answer = compute();
    } catch (...) {
        lock.lock();
        Entry& entry = entries_[key];
        entry.is_computing = false;
        if (!entry.answer) entries_.erase(key);
        computed_.notify_all();
        throw;
    }
    lock.lock();
    computed_.notify_all();
    if (!answer) {
        entries_.erase(key);
        return nullptr;
    }
    Entry& entry = entries_[key];
    entry.answer = std::make_shared<const Answer>(std::move(*answer));
    entry.expires = Clock::now() + life;
    entry.is_computing = false;
    return entry.answer;
}

void AnswerCache::bound_size() {
    if (entries_.size() < kMaxEntries) return;
    std::erase_if(entries_, [](const auto& item) { return !item.second.is_computing; });
}

}  // namespace dedloc::server
