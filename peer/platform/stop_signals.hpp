// SIGINT, SIGTERM and SIGHUP as a condition to poll or to wait for, without signal handlers.
#pragma once

#include <chrono>
#include <csignal>

namespace dedloc::platform {

/// Blocks the three signals for its lifetime, in the calling thread and in all threads started
/// meanwhile. Thread: main, before other threads start.
class StopSignals final {
  public:
    StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;
    ~StopSignals();

    /// Whether a signal has arrived since construction.
    bool arrived() const { return wait(std::chrono::milliseconds{0}); }
    /// Waits for a signal until the timeout. True if one has arrived, now or earlier.
    bool wait(std::chrono::nanoseconds timeout) const;
    /// Waits for a signal without a timeout. Returns the number of the first one.
    int wait() const;
    /// The first signal was SIGINT (Ctrl-C). Meaningful after a wait.
    bool is_interrupted() const { return arrived_ == SIGINT; }

  private:
    sigset_t signals_{};
    sigset_t before_{};
    mutable int arrived_ = 0;  ///< the first signal; 0: none yet
};

/// Makes a write to a closed pipe or socket fail with EPIPE instead of ending the process.
void ignore_broken_pipes();

}  // namespace dedloc::platform
