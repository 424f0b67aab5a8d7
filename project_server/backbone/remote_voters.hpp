// The voters of a run whose control plane the project reaches on other machines.
#pragma once

#include <filesystem>
#include <vector>

#include "project_server/control/place.hpp"

namespace dedloc::backbone {

/// Those of the voters.json in a run's folder. Empty if there is no such file.
/// Errors: InputError (damaged), IoError.
std::vector<control::RemoteEnd> remote_voters(const std::filesystem::path& run_folder);

/// The places that a run can be followed at: its folder, then its voters on other machines. A
/// damaged file is as if there were none.
control::Places places_of(const std::filesystem::path& run_folder);

}  // namespace dedloc::backbone
