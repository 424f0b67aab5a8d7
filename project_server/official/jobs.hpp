// The rows and files of our app in the tables and folders of an official project.
#pragma once

#include <cstdint>

#include "project_server/official/project.hpp"

namespace dedloc::official {

/// Whether the project has our app.
bool has_app(Project& project);
/// Offers the app's jobs again after withdraw().
void offer(Project& project);
/// Cancels the jobs that no volunteer has, and withdraws the app. Jobs in progress may be reported.
void withdraw(Project& project);
/// Deletes the app with its versions, jobs, and their files in download/ and upload/. Credit stays.
/// After a kill -9 the next call completes it. Errors: IoError, DatabaseError.
void erase(Project& project);
/// Tells the official feeder to read apps and versions again.
void reload_feeder(const std::filesystem::path& project);

}  // namespace dedloc::official
