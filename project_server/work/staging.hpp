// Input files of jobs, where volunteers download them.
#pragma once

#include <filesystem>
#include <string>

#include "project_server/database/project_config.hpp"

namespace dedloc::work {

/// Copies `source` into the download tree under `name`, in the folder that BOINC's rule gives the
/// name, whole or not at all. A file that is there already stays: a name never means other bytes.
/// Errors: IoError.
void stage_file(const server::ProjectConfig& config, const std::filesystem::path& source,
                const std::string& name);

}  // namespace dedloc::work
