// Queue of events for the network thread. Links, directory, trainer and host post events; the
// reactor takes them.
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

/// Bounded: post() waits while the queue is full. It must outlive everything that posts to it.
class EventQueue final {
  public:
    /// `capacity` is a number of events.
    explicit EventQueue(std::size_t capacity = 4096) : capacity_(capacity) {}
    EventQueue(const EventQueue&) = delete;
    EventQueue& operator=(const EventQueue&) = delete;

    /// A function that calls post(). It must not outlive this queue.
    EventSink sink() {
        return [this](Event event) { post(std::move(event)); };
    }

    /// Appends an event. Waits while the queue is full, except on the thread that takes, which
    /// would wait for itself. Drops the event after close(). Thread: any.
    void post(Event event);
    /// Removes the oldest event; an event::FrameWritten comes before all others. Nothing at `until`
    /// or after close(). Thread: always the same one.
    std::optional<Event> take(std::chrono::steady_clock::time_point until);
    /// Wakes all waiting threads and drops all queued and later events. Thread: any.
    void close();

  private:
    std::size_t size() const { return written_.size() + others_.size(); }

    const std::size_t capacity_;
    std::mutex mutex_;
    std::condition_variable has_event_;
    std::condition_variable has_space_;
    std::deque<Event> written_;  ///< event::FrameWritten only: links with a free window go first
    std::deque<Event> others_;
    std::thread::id taker_;
    bool is_closed_ = false;
};

}  // namespace dedloc::net
