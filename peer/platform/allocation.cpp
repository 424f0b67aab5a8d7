// mallopt() settings of glibc. Blocks above the mmap threshold would be unmapped when they are
// freed, and the top of the heap would be trimmed; both are turned off, and all threads use one
// heap.
#include "peer/platform/allocation.hpp"

#include <limits>

// __GLIBC__ is defined by the C library's headers: one of them must be included before this line.
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace dedloc::platform {

void keep_freed_memory() {
#ifdef __GLIBC__
    // One arena, because the arenas of other threads are too small for a whole vector; no block is
    // mapped outside it.
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
    mallopt(M_TOP_PAD, 16 << 20);
#endif
}

}  // namespace dedloc::platform
