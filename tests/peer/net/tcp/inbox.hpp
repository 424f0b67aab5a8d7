// Collects events for the tests of peer/net. A wait for an event has a deadline and no fixed sleep.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "peer/net/tcp/transport_options.hpp"
#include "peer/trainer.hpp"

namespace dedloc::net {

inline constexpr std::chrono::seconds kTimeout{20};

inline TransportOptions on_loopback() {
    TransportOptions options;
    options.listen = Endpoint{"127.0.0.1", 0};
    return options;
}

class Inbox {
  public:
    EventSink sink() {
        return [this](Event event) {
            {
                const std::lock_guard lock(mutex_);
                events_.push_back(std::move(event));
            }
            arrived_.notify_all();
        };
    }

    /// Waits for an event of this kind that `fits`, and removes it; earlier events stay. Nothing
    /// after the timeout.
    template <class Kind>
    std::optional<Kind> next(std::chrono::milliseconds timeout = kTimeout,
                             const std::function<bool(const Kind&)>& fits = {}) {
        std::unique_lock lock(mutex_);
        const auto deadline = std::chrono::steady_clock::now() + timeout;
        while (true) {
            for (auto at = events_.begin(); at != events_.end(); ++at) {
                if (!std::holds_alternative<Kind>(*at)) continue;
                if (fits && !fits(std::get<Kind>(*at))) continue;
                Kind found = std::get<Kind>(std::move(*at));
                events_.erase(at);
                return found;
            }
            if (arrived_.wait_until(lock, deadline) == std::cv_status::timeout) return std::nullopt;
        }
    }

    /// Number of events of this kind in the inbox.
    template <class Kind>
    std::size_t waiting() {
        const std::lock_guard lock(mutex_);
        std::size_t count = 0;
        for (const Event& event : events_) count += std::holds_alternative<Kind>(event) ? 1U : 0U;
        return count;
    }

  private:
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::deque<Event> events_;
};

}  // namespace dedloc::net
