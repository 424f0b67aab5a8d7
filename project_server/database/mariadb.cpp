#include "project_server/database/mariadb.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <optional>
#include <thread>

#include "peer/base/error.hpp"
#include "peer/platform/ports.hpp"
#include "peer/platform/process.hpp"
#include "project_server/database/text_columns.hpp"

namespace dedloc::server {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kStartTimeout = 60s;
constexpr auto kStopTimeout = 30s;

std::string login_name() {
    const passwd* const entry = getpwuid(geteuid());
    if (entry == nullptr) {
        throw IoError(fmt::format("User {} has no name in the system's accounts.", geteuid()));
    }
    return entry->pw_name;
}

/// The line of a log that explains a failure: the last one with ERROR (advice may follow it), else
/// the last one.
std::string last_line(const fs::path& log) {
    std::ifstream lines{log};
    std::string last;
    std::string error;
    for (std::string line; std::getline(lines, line);) {
        if (!line.empty()) last = line;
        if (line.find("ERROR") != std::string::npos) error = line;
    }
    if (!error.empty()) return error;
    return last.empty() ? "its log is empty" : last;
}

void check_socket_length(const MariadbPlace& place) {
    if (place.socket().string().size() < sizeof(sockaddr_un::sun_path)) return;
    throw InputError(fmt::format("The path {} is too long for a socket: at most {} characters.",
                                 place.socket().string(), sizeof(sockaddr_un::sun_path) - 1));
}

}  // namespace

void initialise_mariadb(const MariadbPlace& place) {
    check_socket_length(place);
    fs::create_directories(place.temporary());
    const fs::path data = place.directory / "data";
    if (fs::exists(data)) return;
    const fs::path unfinished = place.directory / "data.unfinished";
    fs::remove_all(unfinished);
    fs::create_directories(unfinished);
    fs::permissions(place.directory, fs::perms::owner_all);
    const std::string user = login_name();
    const pid_t child = platform::spawn(
        {"mariadb-install-db", "--no-defaults", "--skip-test-db",
         "--auth-root-authentication-method=socket", "--auth-root-socket-user=" + user,
         "--user=" + user, "--datadir=" + unfinished.string(),
         "--tmpdir=" + place.temporary().string()},
        {.output = place.log(), .output_mode = platform::kSecretFile});
    if (platform::wait_for_child(child) != 0) {
        throw IoError(fmt::format("Cannot create a database in {}: {}", data.string(),
                                  last_line(place.log())));
    }
    fs::rename(unfinished, data);
}

std::vector<std::string> mariadb_command(const MariadbPlace& place) {
    return {"/usr/sbin/mariadbd",  // absolute: /usr/sbin is not in an ordinary user's PATH
            "--no-defaults",
            "--user=" + login_name(),
            "--datadir=" + (place.directory / "data").string(),
            "--tmpdir=" + place.temporary().string(),
            "--socket=" + place.socket().string(),
            "--pid-file=" + (place.directory / "mariadb.pid").string(),
            "--bind-address=127.0.0.1",
            "--port=" + std::to_string(place.port),
            "--skip-name-resolve",
            "--skip-log-bin",
            std::string{"--character-set-server="} + kTextCharacterSet,
            std::string{"--collation-server="} + kTextCollation,
            "--default-storage-engine=InnoDB",
            "--innodb-flush-log-at-trx-commit=1",
            "--innodb-buffer-pool-size=64M",
            "--innodb-log-file-size=32M",
            "--performance-schema=OFF",
            "--key-buffer-size=1M",
            "--aria-pagecache-buffer-size=8M",
            "--max-allowed-packet=32M",
            "--max-connections=100",
            "--log-warnings=1"};
}

DatabaseSettings mariadb_administrator(const MariadbPlace& place) {
    return {.socket = place.socket().string(), .user = login_name(), .password = "", .name = ""};
}

void await_mariadb(const MariadbPlace& place, std::chrono::milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    for (;;) {
        try {
            const Database probe{mariadb_administrator(place)};
            return;
        } catch (const DatabaseError&) {
            if (std::chrono::steady_clock::now() > deadline) throw;
        }
        std::this_thread::sleep_for(50ms);
    }
}

void create_database(Database& administrator, const DatabaseSettings& settings) {
    for (const char c : settings.name) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') {
            throw InputError(
                fmt::format("The database's name \"{}\" has a character that is not a letter, "
                            "digit or underscore.",
                            settings.name));
        }
    }
    administrator.execute(
        fmt::format("create database if not exists `{}` character set {} collate {}", settings.name,
                    kTextCharacterSet, kTextCollation));
    for (const char* const host : {"localhost", "127.0.0.1"}) {
        administrator.execute("create user if not exists ?@?", {settings.user, host});
        administrator.execute("alter user ?@? identified by ?",
                              {settings.user, host, settings.password});
        administrator.execute("grant all privileges on `" + settings.name + "`.* to ?@?",
                              {settings.user, host});
    }
}

MariadbProcess::MariadbProcess(MariadbPlace place) : place_(std::move(place)) {
    check_socket_length(place_);
    process_ = platform::spawn(mariadb_command(place_), {.output = place_.log(),
                                                         .output_mode = platform::kSecretFile,
                                                         .death_signal = kMariadbDeathSignal});
    const auto deadline = std::chrono::steady_clock::now() + kStartTimeout;
    for (;;) {
        if (platform::poll_child(process_)) {
            process_ = 0;
            throw IoError(fmt::format("The database in {} does not start: {}",
                                      place_.directory.string(), last_line(place_.log())));
        }
        try {
            await_mariadb(place_, 200ms);
            return;
        } catch (const DatabaseError&) {
            if (std::chrono::steady_clock::now() < deadline) continue;
            stop();
            throw;
        }
    }
}

MariadbProcess::~MariadbProcess() {
    stop();
}

void MariadbProcess::stop() {
    if (process_ == 0) return;
    kill(process_, SIGTERM);
    const auto deadline = std::chrono::steady_clock::now() + kStopTimeout;
    while (!platform::poll_child(process_)) {
        if (std::chrono::steady_clock::now() > deadline) kill(process_, SIGKILL);
        std::this_thread::sleep_for(20ms);
    }
    process_ = 0;
}

}  // namespace dedloc::server
