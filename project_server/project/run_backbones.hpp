// Keeps a backbone for each run of a project.
#pragma once

#include "peer/platform/process.hpp"
#include "project_server/database/database.hpp"
#include "project_server/project/supervisor.hpp"

namespace dedloc::project {

/// A program of this installation, beside the one that runs, with --project.
platform::Command program_of(const std::string& name, const std::filesystem::path& project);

/// Starts a backbone for each run that is not finished and has none. While the database is away it
/// only logs that.
void start_backbones(Supervisor& supervisor, server::Database& database,
                     const std::filesystem::path& project);

/// Keeps backbones for the runs of an official BOINC server's project until a stop signal, with
/// their logs in dedloc/log/. Errors: InputError (no such project, or it is served already).
void serve_backbones(const std::filesystem::path& project);

}  // namespace dedloc::project
