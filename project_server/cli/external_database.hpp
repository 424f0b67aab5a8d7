// A database on a MariaDB server that exists already, which the project neither starts nor stops.
#pragma once

#include <filesystem>
#include <string>

#include "project_server/database/database.hpp"

namespace dedloc::cli {

/// Parses mysql://USER@HOST:PORT/NAME; without a port 3306. The password is the first line of the
/// file, which must be readable by its owner only: arguments of a process are visible to others.
/// Errors: InputError.
server::DatabaseSettings parse_database_url(const std::string& url,
                                            const std::filesystem::path& password_file);

/// Refuses a database that a new project cannot use. Errors: InputError in one sentence: the server
/// does not answer or does not let the account in, it is no MariaDB or older than 10.6, the account
/// lacks a right in this database, or there are tables in it.
void require_empty_database(const server::DatabaseSettings& settings);

/// Whether the project has a MariaDB of its own, in its folder db/.
bool has_own_mariadb(const std::filesystem::path& project);

}  // namespace dedloc::cli
