// A run of a project by its name.
#pragma once

#include <filesystem>
#include <string>

#include "project_server/backbone/run_files.hpp"

namespace dedloc::runs {

/// The files of this run. Errors: InputError: no such project or run, or an unusable run.json.
backbone::RunFiles find_run(const std::filesystem::path& project, const std::string& run);

}  // namespace dedloc::runs
