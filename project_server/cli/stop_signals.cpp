#include "project_server/cli/stop_signals.hpp"

#include <ctime>

namespace dedloc::cli {

StopSignals::StopSignals() {
    sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, signal);
    sigprocmask(SIG_BLOCK, &signals_, &before_);
}

StopSignals::~StopSignals() {
    wait(std::chrono::milliseconds{0});  // one that is pending now has been answered by our caller
    sigprocmask(SIG_SETMASK, &before_, nullptr);
}

bool StopSignals::wait(std::chrono::milliseconds longest) const {
    if (has_arrived_) return true;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
    const timespec limit{
        .tv_sec = seconds.count(),
        .tv_nsec = std::chrono::nanoseconds(longest - seconds).count(),
    };
    has_arrived_ = sigtimedwait(&signals_, nullptr, &limit) > 0;
    return has_arrived_;
}

}  // namespace dedloc::cli
