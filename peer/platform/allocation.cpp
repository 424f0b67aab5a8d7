#include "peer/platform/allocation.hpp"

#include <limits>

// Any of the C library's headers says which library it is; before one, none does.
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace dedloc::platform {

void keep_freed_memory() {
#ifdef __GLIBC__
    // One heap, for other threads' cannot hold a whole vector; nothing is mapped beside it.
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
    mallopt(M_TOP_PAD, 16 << 20);
#endif
}

}  // namespace dedloc::platform
