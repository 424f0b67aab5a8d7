// Input files of jobs, where volunteers download them.
#pragma once

#include <filesystem>
#include <string>

#include "project_server/database/project_config.hpp"

namespace dedloc::cli {

/// Puts a file under `name` into the download tree, in the folder that BOINC's rule gives the name.
/// A file that is there already stays: a name never means other bytes. Returns its path. Errors:
/// IoError.
std::filesystem::path stage_file(const server::ProjectConfig& config,
                                 const std::filesystem::path& source, const std::string& name);

}  // namespace dedloc::cli
