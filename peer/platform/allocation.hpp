// Keeps freed memory in this process.
#pragma once

namespace dedloc::platform {

/// Makes freed memory, also of large blocks, stay with the process instead of going back to the
/// system. A peer allocates the same vectors in every round: otherwise the system would map and
/// zero their pages again each time. Call it in `main` before any thread starts. No effect if the C
/// library has no such setting.
void keep_freed_memory();

}  // namespace dedloc::platform
