#include "peer/net/event_queue.hpp"

#include <utility>

namespace dedloc::net {

void EventQueue::post(Event event) {
    {
        std::unique_lock lock(mutex_);
        has_room_.wait(lock, [&] {
            return is_closed_ || events_.size() < capacity_ || taker_ == std::this_thread::get_id();
        });
        if (is_closed_) return;
        events_.push_back(std::move(event));
    }
    has_event_.notify_one();
}

std::optional<Event> EventQueue::take(std::chrono::steady_clock::time_point until) {
    std::optional<Event> taken;
    {
        std::unique_lock lock(mutex_);
        taker_ = std::this_thread::get_id();
        has_event_.wait_until(lock, until, [&] { return is_closed_ || !events_.empty(); });
        if (events_.empty()) return std::nullopt;
        taken = std::move(events_.front());
        events_.pop_front();
    }
    has_room_.notify_one();
    return taken;
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
