// The file `pause` in a backbone's folder: how often the run was paused or resumed
// (PeerConfig::pause_count). It decides whether the run is paused; dedloc_run.state follows it.
//
//     {"pause_count": 3}
#pragma once

#include <cstdint>
#include <filesystem>

namespace dedloc::backbone {

/// 0 if there is no such file: the run was never paused. Errors: IoError, InputError (damaged).
std::uint64_t read_pause_count(const std::filesystem::path& file);
/// Replaces the file, atomically and durably. Errors: IoError.
void write_pause_count(const std::filesystem::path& file, std::uint64_t pause_count);

/// Whether the run is paused by this file. Errors: as read_pause_count().
bool is_paused(const std::filesystem::path& file);
/// Writes that it is paused or not. Requires the lock of the backbone's folder, so that no backbone
/// works. Errors: as above; InputError (paused too often).
void set_paused(const std::filesystem::path& file, bool is_paused);

}  // namespace dedloc::backbone
