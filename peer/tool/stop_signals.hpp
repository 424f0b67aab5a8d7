// SIGINT, SIGTERM and SIGHUP as something to ask for instead of something that strikes anywhere.
#pragma once

#include <chrono>
#include <csignal>
#include <ctime>

namespace dedloc::tool {

/// Blocks the three signals from now on, in later threads too. Thread: main, before there are
/// others.
class StopSignals final {
  public:
    StopSignals() {
        sigemptyset(&signals_);
        for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, signal);
        sigprocmask(SIG_BLOCK, &signals_, nullptr);
    }
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    /// Waits at most so long. True once one has come.
    bool wait(std::chrono::milliseconds longest) {
        const auto nanoseconds = std::chrono::nanoseconds(longest).count();
        const timespec limit{.tv_sec = nanoseconds / 1'000'000'000,
                             .tv_nsec = nanoseconds % 1'000'000'000};
        if (arrived_ == 0) arrived_ = sigtimedwait(&signals_, nullptr, &limit);
        if (arrived_ < 0) arrived_ = 0;
        return arrived_ != 0;
    }
    /// Ctrl-C was pressed.
    bool is_interrupted() const { return arrived_ == SIGINT; }

  private:
    sigset_t signals_{};
    int arrived_ = 0;
};

}  // namespace dedloc::tool
