// The calendar time of this machine, for tickets and logs. Deadlines use a steady clock instead.
#pragma once

#include <chrono>

namespace dedloc::platform {

/// Now in whole seconds of UTC. May jump when the machine's clock is set.
inline std::chrono::sys_seconds utc_now() {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

}  // namespace dedloc::platform
