// SIGINT, SIGTERM and SIGHUP as a condition to poll or wait for instead of asynchronous handlers.
#pragma once

#include <chrono>
#include <csignal>

namespace dedloc::platform {

/// Blocks the three signals while it lives, in every thread that is started meanwhile.
/// Thread: main, before other threads start.
class StopSignals final {
  public:
    StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;
    ~StopSignals();

    /// Whether a signal has arrived since construction.
    bool arrived() const { return wait(std::chrono::milliseconds{0}); }
    /// Waits for a signal, at most so long. True once one has arrived.
    bool wait(std::chrono::nanoseconds timeout) const;
    /// Waits for a signal without limit and returns its number.
    int wait() const;
    /// Ctrl-C was pressed.
    bool is_interrupted() const { return arrived_ == SIGINT; }

  private:
    sigset_t signals_{};
    sigset_t before_{};
    mutable int arrived_ = 0;  ///< the first signal; 0: none yet
};

/// Writing to a closed pipe or socket fails with EPIPE instead of ending the process.
void ignore_broken_pipes();

}  // namespace dedloc::platform
