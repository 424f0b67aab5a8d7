// Publishes an app version: signs its files and copies them to the download folder under permanent
// names. The row in app_version tells clients how to assemble them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/publishing/kernel_version.hpp"

namespace dedloc::server {

/// One file of an app version.
struct AppFile {
    std::filesystem::path source;  ///< path on this machine
    std::string open_name;         ///< name in the slot: the program's own, or a library's soname
    bool is_main_program = false;  ///< true for exactly one file of a version
};

/// One version of an app for one platform and plan class.
struct AppVersion {
    std::string app;                               ///< short name; created if new
    std::string friendly_name;                     ///< the app's name as volunteers see it
    int version = 100;                             ///< 100 is 1.0
    std::string platform = "x86_64-pc-linux-gnu";  ///< BOINC platform name
    std::string plan_class{};                      ///< BOINC plan class; empty: any CPU
    std::vector<AppFile> files{};                  ///< the program and what it needs
    bool needs_network = true;  ///< clients suspend it while networking is suspended
    bool dont_throttle = true;  ///< clients do not throttle its CPU time
    bool is_gzipped = false;    ///< clients download large files compressed
    /// Clients run one job of the app beside all others; holds for all versions of the app.
    bool is_non_cpu_intensive = false;
    /// Hosts with an older Linux kernel get no jobs of it; nothing: no limit.
    std::optional<KernelVersion> kernel{};
    std::string bill_of_materials{};  ///< published as bill_name(); empty: none
};

/// The name under which a version's bill of materials is in the download folder.
std::string bill_name(const AppVersion& version);
/// The same of a row with columns app, version_num, platform and plan_class.
std::string bill_name(const Row& version);

/// Publishes `version` and returns its id. Repeating it with the same files changes nothing. The
/// signatures come from the folder `signatures`, as sign_files() writes them, or, if that is empty,
/// from the project's key on this machine. No change of the key goes on meanwhile (key_change.hpp).
/// `begins` is told of each file.
///
/// Errors  InputError (a file is absent, no main program, unknown platform, no key, a signature
///         that is absent or not of this file by the project's key, or this version exists with
///         other files: volunteers may have them, so a version never changes), IoError (also when
///         the key is being changed), DatabaseError
std::int64_t add_app_version(Database& database, const ProjectConfig& config,
                             const AppVersion& version,
                             const std::filesystem::path& signatures = {},
                             const std::function<void(const std::string&)>& begins = {});

/// Signs files on a machine that is not the project's: writes FOLDER/NAME.sig for each, where NAME
/// is the file's permanent name. Returns the names. Errors: InputError (no such file, no key),
/// IoError.
std::vector<std::string> sign_files(const std::vector<AppFile>& files,
                                    const std::filesystem::path& private_key,
                                    const std::filesystem::path& folder);

}  // namespace dedloc::server
