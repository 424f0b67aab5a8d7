// Threads inherit their creator's signal mask. BOINC's API runs a 10 Hz SIGALRM timer that belongs
// to the main thread, and SIGTERM belongs to whoever waits for it there: no thread of the network
// may receive either.
#pragma once

#include <pthread.h>

#include <csignal>
#include <initializer_list>

namespace dedloc::platform {

/// Blocks every asynchronous signal for the calling thread while it lives, so that threads created
/// meanwhile (ours, libtorrent's) start with them blocked. Faults (SIGSEGV and its kin) stay
/// as they are.
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
