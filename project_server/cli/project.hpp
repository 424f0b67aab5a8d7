// A project's folder: creates it, and connects to its database whether the project runs or not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "project_server/cli/progress.hpp"
#include "project_server/database/database.hpp"
#include "project_server/database/mariadb.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/settings.hpp"

namespace dedloc::cli {

/// Arguments of create_project().
struct ProjectOptions {
    std::filesystem::path folder;  ///< must not exist yet, or be empty
    /// Name and public address. Empty: url that of the first address in `listen`, which is
    /// 127.0.0.1 by default; peer_listen any address if the URL's host is not this machine alone.
    /// Port 0 in the first address: a free one, then fixed for the project.
    server::Settings settings{};
    std::string user{};  ///< root: the account to become; empty: none
    /// A database on an existing server, empty; nothing: a private MariaDB.
    std::optional<server::DatabaseSettings> database{};
    int contact_seconds = 3'600;  ///< BOINC clients contact the scheduler this often or oftener
};

/// Creates a project: folders, keys, config.xml, dedloc.json, nginx.conf and a private MariaDB, or
/// the existing database, with all tables. A failed or interrupted creation leaves nothing behind.
/// `begins` is told what takes long.
///
/// Errors  InputError (exists already, port in use, unusable path), IoError (no disk space, MariaDB
///         does not start)
server::Settings create_project(const ProjectOptions& options, const Begins& begins);

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

}  // namespace dedloc::cli
