// Our daemons in an official project: those in config.xml, and whether each one runs.
#pragma once

#include <filesystem>
#include <vector>

#include "project_server/handover.hpp"

namespace dedloc::official {

/// The daemons of ours that config.xml names, unless it disables them, in its order; process 0:
/// does not run. Errors: InputError.
std::vector<server::RunningDaemon> own_daemons(const std::filesystem::path& project);

}  // namespace dedloc::official
