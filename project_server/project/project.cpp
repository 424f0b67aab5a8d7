#include "project_server/project/project.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include "peer/base/error.hpp"
#include "peer/base/markup.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/privileges.hpp"
#include "project_server/project/external_database.hpp"
#include "project_server/project/lock.hpp"

namespace dedloc::project {
namespace {

namespace fs = std::filesystem;

/// BOINC's libraries have 256 bytes for the path of a folder in the project, and a file system as
/// many for the name of one folder, which is longer while it is unfinished.
constexpr std::size_t kMaxPathBytes = 230;
}  // namespace

server::MariadbPlace mariadb_place(const fs::path& project, const server::Settings& settings) {
    return {.directory = project / "db", .port = settings.database_port};
}

void check_path(const fs::path& project) {
    const std::string path = project.string();
    const std::string printable = printable_text(valid_text(path));
    if (printable != path) {
        throw InputError(
            fmt::format("config.xml cannot hold the path {}: it has a control character or bytes "
                        "that are not UTF-8, which stand here as ?",
                        printable));
    }
    if (path.size() > kMaxPathBytes) {
        throw InputError(fmt::format("the path {} has {} bytes; a project's has at most {}", path,
                                     path.size(), kMaxPathBytes));
    }
}

void require_unprivileged(const server::Settings& settings) {
    if (!platform::is_root() || settings.is_loopback()) return;
    throw InputError(
        "the daemons of a public project must not run as root: its folder must belong to another "
        "account (dedloc project create --user NAME)");
}

void require_disk_space(const fs::path& folder, std::uint64_t bytes) {
    struct statvfs system {};
    if (statvfs(folder.c_str(), &system) != 0) return;  // the first write will fail with the reason
    const auto free = static_cast<std::uint64_t>(system.f_bavail) * system.f_frsize;
    if (free < bytes) {
        throw IoError(fmt::format("not enough disk space in {}: {} MB free, {} MB needed",
                                  folder.string(), free >> 20, bytes >> 20));
    }
}

fs::path existing_project(const fs::path& folder) {
    const auto settings = server::read_settings(folder);
    if (platform::is_root()) {
        const auto owner = platform::owner_of(folder);
        if (owner != "root") platform::become_user(owner);
        if (!server::is_official(folder)) require_unprivileged(settings);
    }
    return fs::canonical(folder);
}

fs::path own_project(const fs::path& folder, const std::string& instead) {
    auto project = existing_project(folder);
    if (server::is_official(project)) {
        throw InputError(fmt::format("{} is the project of an official BOINC server: {}",
                                     project.string(),
                                     fmt::format(fmt::runtime(instead), project.string())));
    }
    return project;
}

ProjectDatabase::ProjectDatabase(const fs::path& project)
    : config_(server::load_project_config(project)) {
    if (has_own_mariadb(project) && !supervisor_of(project)) {
        process_ = std::make_unique<server::MariadbProcess>(
            mariadb_place(project, server::read_settings(project)));
    }
    database_ = std::make_unique<server::Database>(config_.database);
}

}  // namespace dedloc::project
