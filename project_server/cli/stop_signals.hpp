// SIGINT, SIGTERM and SIGHUP as something to ask for instead of something that strikes anywhere.
#pragma once

#include <chrono>
#include <csignal>

namespace dedloc::cli {

/// Blocks the three signals while it lives. Thread: the only one, or made before the others start.
class StopSignals final {
  public:
    StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;
    ~StopSignals();

    /// Whether one has arrived since construction.
    bool arrived() const { return wait(std::chrono::milliseconds{0}); }
    /// Waits for one, at most so long.
    bool wait(std::chrono::milliseconds longest) const;

  private:
    sigset_t signals_{};
    sigset_t before_{};
    mutable bool has_arrived_ = false;
};

}  // namespace dedloc::cli
