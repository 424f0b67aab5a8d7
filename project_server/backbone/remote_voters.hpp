// The voters of a run whose control plane the project reaches on other machines.
#pragma once

#include <filesystem>
#include <vector>

#include "project_server/control/place.hpp"

namespace dedloc::backbone {

/// The project's key for the control plane, in the folder that has `runs`. It is made when it is
/// needed first.
std::filesystem::path control_key_file(const std::filesystem::path& run_folder);

/// Those of the voters.json in PROJECT/runs/NAME. Empty in a folder that is not a project's.
/// Errors: InputError (damaged), IoError.
std::vector<control::RemoteEnd> remote_voters(const std::filesystem::path& run_folder);

/// The places that a run can be followed at: its folder, then its voters on other machines. A
/// damaged file is as if there were none.
control::Places places_of(const std::filesystem::path& run_folder);

}  // namespace dedloc::backbone
