// How much of a busy machine a thread gets.
#pragma once

namespace dedloc::platform {

/// Lets the calling thread, and the threads that it starts later, run only while processors are
/// otherwise idle: Linux' SCHED_IDLE, and nice 19 for systems that ignore it. There is no way back
/// without privileges. False if the system refused.
bool run_when_idle();

}  // namespace dedloc::platform
