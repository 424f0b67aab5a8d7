// Only the soft limit is changed. If the system refuses, the old limit stays, and callers get the
// limit that is in effect.
#include "peer/platform/descriptors.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

#include "peer/base/check.hpp"

namespace dedloc::platform {

namespace {

/// Enough for every limit in transport_options.hpp, kMaxLinks included. With a limit of a billion
/// some libraries would allocate or close that many descriptors.
constexpr rlim_t kMaxDescriptors = 65'536;
/// Descriptors that sockets must leave to everything else.
constexpr std::size_t kReserve = 256;

rlimit current_limits() {
    rlimit limits{};
    DEDLOC_CHECK(getrlimit(RLIMIT_NOFILE, &limits) == 0,
                 "the system reports its limit on open files");
    return limits;
}

}  // namespace

std::size_t raise_descriptor_limit() {
    rlimit limits = current_limits();
    const rlim_t wanted = std::min(limits.rlim_max, kMaxDescriptors);
    if (limits.rlim_cur < wanted) {
        limits.rlim_cur = wanted;
        setrlimit(RLIMIT_NOFILE, &limits);  // if refused, the old limit stays and is returned
    }
    return descriptor_limit();
}

std::size_t descriptor_limit() {
    const rlim_t limit = current_limits().rlim_cur;
    return limit == RLIM_INFINITY ? std::numeric_limits<std::size_t>::max()
                                  : static_cast<std::size_t>(limit);
}

std::size_t socket_budget(std::size_t limit) {
    return limit - std::min(kReserve, limit / 4);
}

std::size_t limit_for_sockets(std::size_t sockets) {
    return std::max(sockets, 3 * kReserve) + kReserve;
}

}  // namespace dedloc::platform
