// Copies input files of jobs to the download tree.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/formats/run_file.hpp"
#include "project_server/database/project_config.hpp"

namespace dedloc::work {

/// Copies `source` to the download tree under `name`, in the folder that BOINC derives from the
/// name. The copy appears only when it is complete. An existing file is kept, because a name always
/// stands for the same bytes. Errors: IoError.
void stage_file(const server::ProjectConfig& config, const std::filesystem::path& source,
                const std::string& name);

/// The place of a file in the download tree. Errors: IoError.
std::filesystem::path staged_place(const server::ProjectConfig& config, const std::string& name);

/// The name of a run's file there: a name must always stand for the same bytes, so it contains the
/// run's id.
std::string staged_name_of(const formats::RunFile& run);
/// The name of a run's module there, which contains its digest.
std::string staged_name_of(const formats::ModuleSpec& module);
/// The name there of the file of an added source, which has this digest.
std::string staged_name_of(const Digest& source);

/// The files of a run, with those of its added sources and all shards that jobs may have, under
/// their names there. `name` is the run's folder, `run` its run file. Errors: InputError, IoError.
std::vector<std::string> staged_names(const server::ProjectConfig& config, const std::string& name,
                                      const formats::RunFile& run);

}  // namespace dedloc::work
