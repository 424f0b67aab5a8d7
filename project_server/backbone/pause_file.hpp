// The file `pause` in a backbone's folder: the last pause or resumption of the run, as the project
// has signed it. It decides whether the run is paused; dedloc_run.state follows it.
//
//     {"pause_count": 3, "signature": "0f3a…"}
#pragma once

#include <filesystem>
#include <optional>

#include "peer/wire/types.hpp"

namespace dedloc::backbone {

/// Nothing if there is no such file: the run was never paused. `project` is the project's public
/// key. Errors: IoError, InputError (damaged, not signed by the project for this run).
std::optional<SignedPause> read_pause(const std::filesystem::path& file, const RunId& run,
                                      const PeerKey& project);
/// Replaces the file, atomically and durably. Errors: IoError.
void write_pause(const std::filesystem::path& file, const SignedPause& pause);

/// The signed order that pauses the run, or lets it go on, after `last`; nothing if `last` says so
/// already. Errors: InputError (paused too often).
std::optional<SignedPause> next_pause(const std::optional<SignedPause>& last, bool is_paused,
                                      const RunId& run, const KeyPair& project);
/// Whether a run with this last order is paused.
bool is_paused(const std::optional<SignedPause>& last);

}  // namespace dedloc::backbone
