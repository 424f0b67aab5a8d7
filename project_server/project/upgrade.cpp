#include "project_server/project/upgrade.hpp"

#include <fmt/format.h>

#include <optional>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/shell_word.hpp"
#include "project_server/database/schema.hpp"
#include "project_server/database/statement_limit.hpp"
#include "project_server/project/external_database.hpp"
#include "project_server/project/lock.hpp"
#include "project_server/project/nginx_conf.hpp"
#include "project_server/project/project.hpp"
#include "project_server/ticket_key.hpp"

namespace dedloc::project {

namespace fs = std::filesystem;

namespace {

constexpr auto kFolders = {"keys",  "download", "upload", "templates", "db",
                           "nginx", "log",      "pids",   "html",      "runs"};
/// Holds the project's own MariaDB, unless another server has its database.
constexpr const char* kPrivateFolder = "db";

bool is_private(const fs::path& folder) {
    const auto others = fs::perms::group_all | fs::perms::others_all;
    return (fs::status(folder).permissions() & others) == fs::perms::none;
}

}  // namespace

void make_project_folders(const fs::path& project) {
    for (const char* const name : kFolders) fs::create_directories(project / name);
    fs::permissions(project / kPrivateFolder, fs::perms::owner_all);
}

std::vector<std::string> upgrade_files(const fs::path& project, const server::Settings& settings) {
    std::vector<std::string> changes;
    // Logs, uploads and evidence are about volunteers.
    if ((fs::status(project).permissions() & fs::perms::others_all) != fs::perms::none) {
        fs::permissions(project, fs::perms::others_all, fs::perm_options::remove);
        changes.push_back("other accounts of this machine can no longer read the folder");
    }
    for (const char* const name : kFolders) {
        std::error_code failed;
        if (fs::create_directory(project / name, failed)) {
            changes.push_back(fmt::format("folder {} was created", name));
        }
        if (failed) {
            throw IoError(
                fmt::format("cannot make {}: {}", (project / name).string(), failed.message()));
        }
    }
    if (!is_private(project / kPrivateFolder)) {
        fs::permissions(project / kPrivateFolder, fs::perms::owner_all);
        changes.push_back(fmt::format("folder {} is its owner's alone now", kPrivateFolder));
    }
    if (server::make_ticket_key(project)) {
        changes.push_back(
            "keys/ticket.key was made; it signs the tickets of runs created from now on");
    }
    const auto file = project / "nginx/nginx.conf";
    const auto wanted = nginx_configuration(settings);
    if (!fs::exists(file) || platform::read_text(file) != wanted) {
        platform::replace_file(file, wanted);
        changes.push_back("nginx/nginx.conf was written");
    }
    return changes;
}

std::vector<std::string> upgrade_project(const fs::path& folder) {
    const auto project = existing_project(folder);
    if (server::is_official(project)) {
        throw InputError(fmt::format(
            "{} is the project of an official BOINC server: dedloc install --into {} brings it "
            "up to date",
            project.string(), platform::shell_word(project)));
    }
    if (supervisor_of(project)) {
        throw InputError(fmt::format(
            "the project {} is running: dedloc project stop {}, then upgrade or start it, which "
            "does the same",
            project.string(), platform::shell_word(project)));
    }
    const auto settings = server::read_settings(project);
    auto changes = upgrade_files(project, settings);  // makes the lock's folder, too
    const ProjectLock lock{project};
    const auto config = server::load_project_config(project);
    std::optional<server::MariadbProcess> process;
    if (has_own_mariadb(project)) process.emplace(mariadb_place(project, settings));
    server::Database database{config.database};
    server::require_statement_limit(database);
    for (auto& change : server::upgrade_schema(database)) changes.push_back(std::move(change));
    return changes;
}

}  // namespace dedloc::project
