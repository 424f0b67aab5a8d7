// A database on a MariaDB server that exists already, which the project neither starts nor stops.
#pragma once

#include <filesystem>
#include <string>

#include "project_server/database/database.hpp"

namespace dedloc::project {

/// What the command line says about such a database.
struct DatabaseOptions {
    std::string url{};  ///< empty: a private MariaDB is wanted
    /// File whose first line is the password, readable by its owner only; empty: the environment
    /// variable MYSQL_PWD has it.
    std::filesystem::path password_file{};
};

/// Parses the URL and reads the password, which is not in the URL because other accounts of the
/// machine can see arguments of a process:
///
///     mysql://USER@HOST:PORT/NAME                   over TCP; without a port 3306
///     mysql://USER@HOST:PORT/NAME?ssl-ca=FILE       with TLS; also &ssl-cert=FILE&ssl-key=FILE
///     mysql://USER@localhost/NAME?socket=FILE       by a socket of this machine
///
/// The names after the ? are those of the options of MariaDB's programs; %XX stands for a byte. The
/// password may be absent with a socket or with ssl-cert. Errors: InputError in one sentence, which
/// never contains a password.
server::DatabaseSettings external_database(const DatabaseOptions& options);

/// Refuses a database that a new project cannot use. Errors: InputError in one sentence: the server
/// does not answer or does not let the account in, it is no MariaDB or older than 10.6 or takes no
/// long statements, the account lacks a right in this database, or there are tables in it.
void require_empty_database(const server::DatabaseSettings& settings);

/// While a project's tables are made in an empty database of another server: the destructor drops
/// all tables unless keep() was called.
class UnfinishedDatabase final {
  public:
    /// Errors: those of require_empty_database().
    explicit UnfinishedDatabase(server::DatabaseSettings settings);
    UnfinishedDatabase(const UnfinishedDatabase&) = delete;
    UnfinishedDatabase& operator=(const UnfinishedDatabase&) = delete;
    /// Drops the tables unless kept; a failure is logged.
    ~UnfinishedDatabase();

    /// As given.
    const server::DatabaseSettings& settings() const { return settings_; }
    /// The tables are complete and stay.
    void keep() { is_kept_ = true; }

  private:
    const server::DatabaseSettings settings_;
    bool is_kept_ = false;
};

/// Whether the project has a MariaDB of its own, in its folder db/.
bool has_own_mariadb(const std::filesystem::path& project);

}  // namespace dedloc::project
