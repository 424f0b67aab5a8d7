#include "peer/net/allocation.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace dedloc::net {

void keep_freed_memory() {
#ifdef __GLIBC__
    // The largest that glibc takes; what is larger is mapped on its own, whole vectors most likely.
    constexpr int kLargestOfAHeap = 32 << 20;
    mallopt(M_MMAP_THRESHOLD, kLargestOfAHeap);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 16 << 20);
#endif
}

}  // namespace dedloc::net
