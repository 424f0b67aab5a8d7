// The rows and files of our apps in the tables and folders of an official project.
#pragma once

#include <cstdint>
#include <string>

#include "project_server/official/project.hpp"

namespace dedloc::official {

/// Whether the project has one of our apps.
bool has_app(Project& project);
/// "app NAME" or "apps NAME and NAME": those that the project has.
std::string names_of_apps(Project& project);
/// Results of our apps that volunteers have.
std::int64_t jobs_in_progress(Project& project);
/// The number of results whose description lets BOINC's file_deleter delete their output files.
std::int64_t described_results(Project& project);
/// Changes these descriptions: see uploads.hpp.
void describe_results(Project& project);
/// Offers the apps' jobs again after withdraw().
void offer(Project& project);
/// Cancels the jobs that no volunteer has, and withdraws the apps. Jobs in progress may be
/// reported.
void withdraw(Project& project);
/// Deletes the apps with their versions, jobs, messages, and files in download/ and upload/, also
/// those of runs whose jobs db_purge has deleted. Credit stays. Call it while the tables dedloc_*
/// are there.
/// After a kill -9 the next call completes it. Errors: IoError, DatabaseError.
void erase(Project& project);
/// Tells the official feeder to read apps and versions again.
void reload_feeder(const std::filesystem::path& project);

}  // namespace dedloc::official
