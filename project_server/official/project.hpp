// The project of an official BOINC server, as make_project leaves it: checked, and locked against a
// second `dedloc install`.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "peer/platform/folder_lock.hpp"
#include "project_server/database/database.hpp"
#include "project_server/database/project_config.hpp"

namespace dedloc::official {

/// A project's folder and its database.
class Project final {
  public:
    /// Root becomes the folder's owner. Checks the folder, config.xml and the database's version
    /// and tables, takes the lock and connects. Errors: InputError (no project of BOINC's, one of
    /// `dedloc project create`, config.xml that cannot be read, a database that is no MariaDB or
    /// too old or without BOINC's tables), IoError (another `dedloc install` works there),
    /// DatabaseError.
    explicit Project(const std::filesystem::path& folder);
    Project(const Project&) = delete;
    Project& operator=(const Project&) = delete;

    const std::filesystem::path& root() const { return root_; }
    const server::ProjectConfig& config() const { return config_; }
    server::Database& database() { return *database_; }

    /// Tables of ours that the database has.
    std::vector<std::string> tables();
    /// Names of the daemons of ours that run, or still end.
    std::vector<std::string> running() const;
    /// Logs, lock files and pid files that bin/start has made for our daemons.
    std::vector<std::filesystem::path> traces() const;

  private:
    const std::filesystem::path root_;
    const platform::FolderLock lock_;
    const server::ProjectConfig config_;
    std::unique_ptr<server::Database> database_;
};

/// A file that an edit replaces, with the access rights that it had; a new one is readable by all.
/// Errors: IoError, also if the file has not the contents `before` any more.
void replace_edited(const std::filesystem::path& file, const std::string& before,
                    const std::string& after);

}  // namespace dedloc::official
