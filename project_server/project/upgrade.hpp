// dedloc project upgrade: brings a project of an earlier version up to date. `dedloc project start`
// does the same.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "project_server/settings.hpp"

namespace dedloc::project {

/// Makes the folders of a project in its own folder; that for the database is its owner's alone.
/// Errors: std::filesystem::filesystem_error.
void make_project_folders(const std::filesystem::path& project);

/// Makes folders and the ticket key if they are missing, takes rights of others away, and writes
/// nginx.conf if it is not what this version writes. Returns a sentence for each change.
/// Idempotent. Errors: IoError.
std::vector<std::string> upgrade_files(const std::filesystem::path& project,
                                       const server::Settings& settings);

/// The same, and creates tables, columns and indices that are missing, and converts text that is
/// not compared by bytes (upgrade_schema), which rebuilds a table. The project must be stopped, and
/// cannot be started meanwhile.
///
/// Crash   at any moment: repeat it; each statement and each file is done or not, and nothing that
///         exists is removed
/// Errors  InputError (no project, it runs, an official server's), IoError, DatabaseError
std::vector<std::string> upgrade_project(const std::filesystem::path& project);

}  // namespace dedloc::project
