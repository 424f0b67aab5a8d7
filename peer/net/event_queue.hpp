// What waits for the network thread. Links, directory, trainer and host put events in; the reactor
// takes them out.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "peer/trainer.hpp"

namespace dedloc::net {

/// Bounded: who posts waits while it is full. Outlives everything that posts to it.
class EventQueue final {
  public:
    explicit EventQueue(std::size_t capacity = 4096) : capacity_(capacity) {}
    EventQueue(const EventQueue&) = delete;
    EventQueue& operator=(const EventQueue&) = delete;

    /// For those who post. Usable while this queue lives.
    EventSink sink() {
        return [this](Event event) { post(std::move(event)); };
    }

    /// Thread: any. Waits while the queue is full, except on the thread that takes, which would
    /// wait for itself. After close the event is dropped.
    void post(Event event);
    /// The oldest event, event::FrameWritten before all others; nothing at `until` or when closed.
    /// Thread: one, always the same.
    std::optional<Event> take(std::chrono::steady_clock::time_point until);
    /// Lets everybody who waits go on and drops what is queued and what comes.
    void close();

  private:
    std::size_t size() const { return written_.size() + others_.size(); }

    const std::size_t capacity_;
    std::mutex mutex_;
    std::condition_variable has_event_;
    std::condition_variable has_space_;
    std::deque<Event> written_;  ///< a link has room: it must not wait for what others have sent
    std::deque<Event> others_;
    std::thread::id taker_;
    bool is_closed_ = false;
};

}  // namespace dedloc::net
