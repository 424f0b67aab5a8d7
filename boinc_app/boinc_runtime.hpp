// The volunteer's machine as BOINC's client speaks for it, and as a terminal does.
#pragma once

#include <memory>

#include "boinc_app/volunteer_runtime.hpp"

namespace dedloc {

/// Under a BOINC client: files are resolved in the slot, wishes come through its shared memory.
///
/// The API may not act by itself (direct_process_action = 0): on Linux it would put only the main
/// thread to sleep, while the network and training threads ran on. Its 10 Hz SIGALRM, which would
/// interrupt every wait, is blocked: call this before any thread is started, so that all inherit
/// that. Errors: Error when the API cannot start.
std::unique_ptr<VolunteerRuntime> make_boinc_runtime();

/// Without BOINC: files lie where they are named, SIGINT and SIGTERM are the wish to quit.
/// `threads` 0 means all CPUs of the machine. Call before any thread is started.
std::unique_ptr<VolunteerRuntime> make_standalone_runtime(unsigned threads);

/// Whether the working folder is the slot of a BOINC client.
bool is_in_boinc_slot();

}  // namespace dedloc
