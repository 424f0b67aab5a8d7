// The two implementations of VolunteerRuntime: under a BOINC client, and from a terminal.
#pragma once

#include <memory>

#include "boinc_app/runtime/volunteer_runtime.hpp"

namespace dedloc::runtime {

/// Under a BOINC client: resolves files in the slot and reads the client's requests from shared
/// memory.
///
/// The API must not act on its own (direct_process_action = 0): on Linux it would suspend only the
/// main thread, while the network and training threads kept running. The API's 10 Hz SIGALRM would
/// interrupt every wait, so it is blocked. Call this before any thread is started, so that all
/// threads inherit the signal mask. Errors: Error when the API cannot start.
std::unique_ptr<VolunteerRuntime> make_boinc_runtime();

/// Without BOINC: file names are paths, and SIGINT or SIGTERM requests a quit. `threads` 0 means
/// all CPUs of the machine. Call this before any thread is started.
std::unique_ptr<VolunteerRuntime> make_standalone_runtime(unsigned threads);

/// Whether the working directory is a slot of a BOINC client.
bool is_in_boinc_slot();

}  // namespace dedloc::runtime
