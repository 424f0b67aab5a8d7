// A project's folder, and a connection to its database whether the project runs or not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "project_server/database/database.hpp"
#include "project_server/database/mariadb.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/settings.hpp"

namespace dedloc::project {

/// Folder and port of a project's private MariaDB.
server::MariadbPlace mariadb_place(const std::filesystem::path& project,
                                   const server::Settings& settings);

/// The absolute path of an existing project. If root asks, this process becomes one of the folder's
/// owner, so root leaves no file there that the daemons cannot read, and starts none as root.
///
/// Errors  InputError (no project; a public one that root owns)
std::filesystem::path existing_project(const std::filesystem::path& folder);
/// The same for a project whose daemons `dedloc project` starts: an official BOINC server's project
/// is an InputError, which ends with `instead`: what to do there, {} being the project.
std::filesystem::path own_project(const std::filesystem::path& folder,
                                  const std::string& instead = "use {}/bin/start, stop and status");

/// Errors: InputError if the path of a project is one that configuration files cannot hold: too
/// long, not UTF-8, or with a control character. Any other one works.
void check_path(const std::filesystem::path& project);
/// On loopback root may try a project out; its daemons must not meet strangers as root. Errors:
/// InputError.
void require_unprivileged(const server::Settings& settings);

/// Errors: IoError if the file system of `folder` has less than `bytes` free.
void require_disk_space(const std::filesystem::path& folder, std::uint64_t bytes);

/// A connection to a project's database. If it is the project's own one and the project is not
/// running, starts MariaDB and stops it in the destructor.
class ProjectDatabase final {
  public:
    /// Errors: InputError (no such project), IoError, DatabaseError.
    explicit ProjectDatabase(const std::filesystem::path& project);
    ProjectDatabase(const ProjectDatabase&) = delete;
    ProjectDatabase& operator=(const ProjectDatabase&) = delete;

    /// The project's config.xml.
    const server::ProjectConfig& config() const { return config_; }
    server::Database& database() { return *database_; }

  private:
    const server::ProjectConfig config_;
    std::unique_ptr<server::MariadbProcess> process_;  ///< null if the project runs
    std::unique_ptr<server::Database> database_;
};

}  // namespace dedloc::project
