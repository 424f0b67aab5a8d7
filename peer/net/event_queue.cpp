#include "peer/net/event_queue.hpp"

#include <utility>

namespace dedloc::net {

void EventQueue::post(Event event) {
    bool is_first = false;
    {
        std::unique_lock lock(mutex_);
        has_room_.wait(lock, [&] {
            return is_closed_ || events_.size() < capacity_ || taker_ == std::this_thread::get_id();
        });
        if (is_closed_) return;
        is_first = events_.empty();
        events_.push_back(std::move(event));
    }
    if (is_first) has_event_.notify_one();
}

std::optional<Event> EventQueue::take(std::chrono::steady_clock::time_point until) {
    if (taken_.empty()) {
        std::unique_lock lock(mutex_);
        taker_ = std::this_thread::get_id();
        has_event_.wait_until(lock, until, [&] { return is_closed_ || !events_.empty(); });
        if (events_.empty()) return std::nullopt;
        const bool was_full = events_.size() >= capacity_;
        events_.swap(taken_);
        lock.unlock();
        if (was_full) has_room_.notify_all();
    }
    std::optional<Event> next{std::move(taken_.front())};
    taken_.pop_front();
    return next;
}

void EventQueue::close() {
    {
        const std::lock_guard lock(mutex_);
        is_closed_ = true;
        events_.clear();
    }
    has_event_.notify_all();
    has_room_.notify_all();
}

}  // namespace dedloc::net
