// A private MariaDB server: own data directory, own socket, one loopback port, the rights of
// whoever runs it. The system's MariaDB service, if there is one, is neither used nor touched.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "peer/platform/ports.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::server {

struct MariadbPlace {
    std::filesystem::path directory;  ///< holds data/, tmp/, mariadb.sock and mariadb.log
    std::uint16_t port = 0;           ///< on 127.0.0.1

    std::filesystem::path socket() const { return directory / "mariadb.sock"; }
    std::filesystem::path log() const { return directory / "mariadb.log"; }
    /// Of its own: a starting mariadbd deletes the temporary tables of all others in its tmpdir.
    std::filesystem::path temporary() const { return directory / "tmp"; }
};

/// Makes the system tables in place.directory/data unless they are there; done whole or not at all.
/// Errors: IoError with the reason. Cost: about 2 s and 130 MB of disk.
void initialise_mariadb(const MariadbPlace& place);

/// Program and arguments of the server, for a supervisor. It stays in the foreground, logs to
/// stderr, and ends in order on SIGTERM. Commits are on disk before they are answered.
std::vector<std::string> mariadb_command(const MariadbPlace& place);

/// How the person who initialised it connects as its administrator.
DatabaseSettings mariadb_administrator(const MariadbPlace& place);

/// Waits until the server answers on its socket. Throws DatabaseError after `patience`.
void await_mariadb(const MariadbPlace& place, std::chrono::milliseconds timeout);

/// Creates the database and the account that `settings` name, if absent, and sets the account's
/// password.
void create_database(Database& administrator, const DatabaseSettings& settings);

/// The server as a child process, for tests and for commands that need it for a moment.
class MariadbProcess {
  public:
    /// Starts it and waits until it answers. Errors: IoError with the last line of its log.
    explicit MariadbProcess(MariadbPlace place);
    /// Stops it.
    ~MariadbProcess();
    MariadbProcess(const MariadbProcess&) = delete;
    MariadbProcess& operator=(const MariadbProcess&) = delete;

    const MariadbPlace& place() const { return place_; }
    /// Idempotent.
    void stop();

  private:
    const MariadbPlace place_;
    pid_t process_ = 0;
};

}  // namespace dedloc::server
