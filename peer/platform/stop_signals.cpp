// The signals stay blocked and are fetched with sigtimedwait() and sigwaitinfo(), so there is no
// handler and no race. The first signal is remembered; the destructor discards pending ones before
// it restores the mask, because they would end the process at that moment.
#include "peer/platform/stop_signals.hpp"

#include <pthread.h>

#include <cerrno>
#include <ctime>

namespace dedloc::platform {

StopSignals::StopSignals() {
    sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, signal);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

StopSignals::~StopSignals() {
    // A second signal may be pending: it must not end the process while it shuts down.
    const timespec now{};
    while (sigtimedwait(&signals_, nullptr, &now) > 0) continue;
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool StopSignals::wait(std::chrono::nanoseconds timeout) const {
    if (arrived_ != 0) return true;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(timeout);
    const timespec limit{.tv_sec = seconds.count(), .tv_nsec = (timeout - seconds).count()};
    const int signal = sigtimedwait(&signals_, nullptr, &limit);
    if (signal > 0) arrived_ = signal;
    return arrived_ != 0;
}

int StopSignals::wait() const {
    while (arrived_ == 0) {
        const int signal = sigwaitinfo(&signals_, nullptr);
        if (signal > 0) arrived_ = signal;
    }
    return arrived_;
}

void ignore_broken_pipes() {
    std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace dedloc::platform
