// One mutex guards two deques, one for event::FrameWritten and one for all other events. The taker
// is notified only by the first event of an empty queue, and posters only when a full queue gets
// space, so a busy queue causes few wake-ups. The taking thread is remembered at its first take().
#include "peer/net/event_queue.hpp"

#include <utility>
#include <variant>

namespace dedloc::net {

void EventQueue::post(Event event) {
    bool is_first = false;
    {
        std::unique_lock lock(mutex_);
        has_space_.wait(lock, [&] {
            return is_closed_ || size() < capacity_ || taker_ == std::this_thread::get_id();
        });
        if (is_closed_) return;
        is_first = size() == 0;
        const bool is_written = std::holds_alternative<event::FrameWritten>(event);
        (is_written ? written_ : others_).push_back(std::move(event));
    }
    if (is_first) has_event_.notify_one();
}

std::optional<Event> EventQueue::take(std::chrono::steady_clock::time_point until) {
    std::optional<Event> taken;
    bool was_full = false;
    {
        std::unique_lock lock(mutex_);
        taker_ = std::this_thread::get_id();
        has_event_.wait_until(lock, until, [&] { return is_closed_ || size() > 0; });
        if (size() == 0) return std::nullopt;
        was_full = size() >= capacity_;
        std::deque<Event>& events = written_.empty() ? others_ : written_;
        taken = std::move(events.front());
        events.pop_front();
    }
    if (was_full) has_space_.notify_all();
    return taken;
}

void EventQueue::close() {
    {
        const std::lock_guard lock(mutex_);
        is_closed_ = true;
        written_.clear();
        others_.clear();
    }
    has_event_.notify_all();
    has_space_.notify_all();
}

}  // namespace dedloc::net
