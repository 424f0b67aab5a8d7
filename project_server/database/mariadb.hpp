// A private MariaDB server with its own data directory, socket and loopback port. It runs as the
// current user. The system's MariaDB service, if there is one, is neither used nor changed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "peer/platform/ports.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Folder and port of a server.
struct MariadbPlace {
    std::filesystem::path directory;  ///< holds data/, tmp/, mariadb.sock and mariadb.log
    std::uint16_t port = 0;           ///< on 127.0.0.1

    std::filesystem::path socket() const { return directory / "mariadb.sock"; }
    std::filesystem::path log() const { return directory / "mariadb.log"; }
    /// The server's own tmpdir: at its start mariadbd deletes all temporary tables in its tmpdir.
    std::filesystem::path temporary() const { return directory / "tmp"; }
};

/// Creates the system tables in place.directory/data unless they exist. Atomic.
/// Errors: IoError with the reason. Cost: about 2 s and 130 MB of disk.
void initialise_mariadb(const MariadbPlace& place);

/// Program and arguments of the server, for a supervisor. The server stays in the foreground, logs
/// to stderr, and shuts down on SIGTERM. A commit is on disk before the client gets the reply.
std::vector<std::string> mariadb_command(const MariadbPlace& place);

/// What the server gets when its parent dies. While it starts it may lose a SIGTERM, and would then
/// run for ever and keep port and files. InnoDB and Aria recover from SIGKILL.
inline constexpr int kMariadbDeathSignal = SIGKILL;

/// The administrator's connection, for the system user that initialised the server.
DatabaseSettings mariadb_administrator(const MariadbPlace& place);

/// Waits until the server answers on its socket. Throws DatabaseError after `timeout`.
void await_mariadb(const MariadbPlace& place, std::chrono::milliseconds timeout);

/// Creates the database and the account that `settings` name, if absent, and sets the account's
/// password.
void create_database(Database& administrator, const DatabaseSettings& settings);

/// The server as a child process, for tests and for commands that need it for a short time.
class MariadbProcess {
  public:
    /// Starts the server and waits until it answers. Errors: IoError with the last error in its
    /// log; DatabaseError after a minute.
    explicit MariadbProcess(MariadbPlace place);
    /// Calls stop().
    ~MariadbProcess();
    MariadbProcess(const MariadbProcess&) = delete;
    MariadbProcess& operator=(const MariadbProcess&) = delete;

    /// Folder and port, as given.
    const MariadbPlace& place() const { return place_; }
    /// Stops the server and waits for its end. Idempotent.
    void stop();

  private:
    const MariadbPlace place_;
    pid_t process_ = 0;
};

}  // namespace dedloc::server
