// The rows and files of our apps in the tables and folders of an official project.
#pragma once

#include <cstdint>

#include "project_server/official/project.hpp"

namespace dedloc::official {

/// Whether the project has one of our apps.
bool has_app(Project& project);
/// Offers the apps' jobs again after withdraw().
void offer(Project& project);
/// Cancels the jobs that no volunteer has, and withdraws the apps. Jobs in progress may be
/// reported.
void withdraw(Project& project);
/// Deletes the apps with their versions, jobs, and files in download/ and upload/. Credit stays.
/// After a kill -9 the next call completes it. Errors: IoError, DatabaseError.
void erase(Project& project);
/// Tells the official feeder to read apps and versions again.
void reload_feeder(const std::filesystem::path& project);

}  // namespace dedloc::official
