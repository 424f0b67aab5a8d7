// Keeps signals away from network and library threads. A thread inherits the signal mask of the
// thread that creates it. BOINC's API runs a 10 Hz SIGALRM timer in the main thread, and SIGTERM is
// handled there as well: no other thread may receive either signal.
#pragma once

#include <pthread.h>

#include <csignal>
#include <initializer_list>

namespace dedloc::platform {

/// Blocks all asynchronous signals in the calling thread for its lifetime, so that threads created
/// meanwhile (ours and libtorrent's) start with them blocked. Fault signals such as SIGSEGV are not
/// blocked.
class SignalsBlocked {
  public:
    SignalsBlocked() {
        sigset_t blocked;
        sigfillset(&blocked);
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
            sigdelset(&blocked, fault);
        }
        pthread_sigmask(SIG_BLOCK, &blocked, &former_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &former_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t former_;
};

}  // namespace dedloc::platform
