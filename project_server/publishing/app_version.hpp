// Publishing an app version: its files go to the download folder under names that are theirs for
// ever, signed; the row in app_version tells clients how to put them together again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"
#include "project_server/database/project_config.hpp"

namespace dedloc::server {

struct AppFile {
    std::filesystem::path source;
    std::string open_name;         ///< what the program calls it: its own name, a library's soname
    bool is_main_program = false;  ///< exactly one file of a version
    bool copy_to_slot = true;      ///< false: the slot gets BOINC's link file instead
};

struct AppVersion {
    std::string app;            ///< short name, made if new
    std::string friendly_name;  ///< of the app, for people
    int version = 100;          ///< 100 is 1.0
    std::string platform = "x86_64-pc-linux-gnu";
    std::string plan_class{};
    std::vector<AppFile> files{};
    bool needs_network = true;  ///< suspended while the volunteer suspends networking
    bool dont_throttle = true;
};

/// Publishes `version` and returns its id. Done again with the same files it changes nothing.
/// Errors: InputError (a file is absent, no main program, unknown platform, or this version exists
/// with other files: volunteers may have it, so it never changes), IoError, DatabaseError.
std::int64_t add_app_version(Database& database, const ProjectConfig& config,
                             const AppVersion& version);

}  // namespace dedloc::server
