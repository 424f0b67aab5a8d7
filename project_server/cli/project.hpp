// A project's folder: making it, and reaching its database whether the project runs or not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "project_server/database/database.hpp"
#include "project_server/database/mariadb.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/settings.hpp"

namespace dedloc::cli {

struct ProjectOptions {
    std::filesystem::path folder;
    std::string name;
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;  ///< 0: a free one, fixed from now on
};

/// Makes a project: folders, keys, config.xml, dedloc.json, nginx.conf and a private MariaDB with
/// all tables. A failed or interrupted creation leaves nothing. Errors   InputError (exists
/// already, port in use, unusable path), IoError (no space, MariaDB does not start)
server::Settings create_project(const ProjectOptions& options);

/// The private MariaDB of a project.
server::MariadbPlace mariadb_place(const std::filesystem::path& project,
                                   const server::Settings& settings);

/// The absolute path of an existing project. Errors: InputError.
std::filesystem::path existing_project(const std::filesystem::path& folder);

/// Errors: IoError when the file system that holds `folder` has less than `bytes` free.
void require_disk_space(const std::filesystem::path& folder, std::uint64_t bytes);

/// A connection to a project's database. Starts MariaDB for its own life when the project is not
/// running.
class ProjectDatabase final {
  public:
    /// Errors: InputError (no project there), IoError, DatabaseError.
    explicit ProjectDatabase(const std::filesystem::path& project);
    ProjectDatabase(const ProjectDatabase&) = delete;
    ProjectDatabase& operator=(const ProjectDatabase&) = delete;

    const server::ProjectConfig& config() const { return config_; }
    server::Database& database() { return *database_; }

  private:
    const server::ProjectConfig config_;
    std::unique_ptr<server::MariadbProcess> process_;  ///< only while the project does not run
    std::unique_ptr<server::Database> database_;
};

}  // namespace dedloc::cli
