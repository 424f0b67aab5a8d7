// Creates a project.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "project_server/database/database.hpp"
#include "project_server/database/join_policy.hpp"
#include "project_server/project/begins.hpp"
#include "project_server/settings.hpp"

namespace dedloc::project {

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
    /// Policy on creating accounts.
    server::JoinPolicy join = server::JoinPolicy::kOpen;
    int contact_seconds = 3'600;  ///< BOINC clients contact the scheduler this often or oftener
};

/// Creates a project: folders, keys, config.xml, dedloc.json, nginx.conf and a private MariaDB, or
/// the existing database, with all tables. A failed or interrupted creation leaves nothing behind.
/// `begins` is told what takes long.
///
/// Errors  InputError (exists already, port in use, unusable path), IoError (no disk space, MariaDB
///         does not start)
server::Settings create_project(const ProjectOptions& options, const Begins& begins);

}  // namespace dedloc::project
