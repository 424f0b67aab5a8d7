// On Linux both settings are those of a thread, not of the process, and threads inherit them.
#include "peer/platform/priority.hpp"

#include <sched.h>
#include <sys/resource.h>

namespace dedloc::platform {

bool run_when_idle() {
    constexpr int kMinPriority = 19;
    const bool is_nice = setpriority(PRIO_PROCESS, 0, kMinPriority) == 0;
    const sched_param none{};
    return sched_setscheduler(0, SCHED_IDLE, &none) == 0 && is_nice;
}

}  // namespace dedloc::platform
