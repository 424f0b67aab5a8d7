// Two numbers that the C library takes from the kernel.
#include "peer/platform/memory.hpp"

#include <unistd.h>

#include "peer/base/check.hpp"

namespace dedloc::platform {

std::uint64_t physical_memory() {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page_bytes = sysconf(_SC_PAGESIZE);
    DEDLOC_CHECK(pages > 0 && page_bytes > 0, "the system reports its memory", pages, page_bytes);
    return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
}

}  // namespace dedloc::platform
