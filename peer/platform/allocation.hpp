// How this process keeps memory.
#pragma once

namespace dedloc::platform {

/// What is freed stays with the process, also large blocks: a peer frees each round what it wants
/// again in the next one, and pages that went back to the system would be taken, zeroed and mapped
/// anew each time. To be called by `main`, before there are threads. Does nothing where the C
/// library has no such setting.
void keep_freed_memory();

}  // namespace dedloc::platform
