// A data folder is made under another name and renamed when it is complete, so an interrupted start
// begins again. Paths are passed as relative ones where the absolute ones could be too long or
// contain characters that the programs misread. A start is a loop of short attempts to connect,
// which ends early if the process ends; the reason is then found in what the log has gained since.
// A stop sends SIGTERM and, after a time, SIGKILL, which the storage engines survive.
#include "project_server/database/mariadb.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <optional>
#include <thread>

#include "peer/base/error.hpp"
#include "peer/base/text.hpp"
#include "peer/platform/ports.hpp"
#include "peer/platform/process.hpp"
#include "project_server/database/text_columns.hpp"

namespace dedloc::server {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kStartTimeout = 60s;
constexpr auto kStopTimeout = 30s;

/// mariadbd takes relative paths as beginning in data/. An absolute one may be too long for a
/// socket (107 bytes), or have a colon, at which mariadbd splits tmpdir.
constexpr const char* kTemporary = "--tmpdir=../tmp";

std::string login_name() {
    const passwd* const entry = getpwuid(geteuid());
    if (entry == nullptr) {
        throw IoError(fmt::format("User {} has no name in the system's accounts.", geteuid()));
    }
    return entry->pw_name;
}

std::uintmax_t size_of(const fs::path& log) {
    std::error_code absent;
    const auto size = fs::file_size(log, absent);
    return absent ? 0 : size;
}

/// What the log says of a failure, by what was written to it after `begin`.
std::string reason_in(const fs::path& log, std::uintmax_t begin) {
    const std::string reason = platform::failure_in(log, begin);
    return reason.empty() ? "its log is empty" : reason;
}

}  // namespace

void initialise_mariadb(const MariadbPlace& place) {
    fs::create_directories(place.temporary());
    const fs::path data = place.directory / "data";
    if (fs::exists(data)) return;
    const fs::path unfinished = place.directory / "data.unfinished";
    fs::remove_all(unfinished);
    fs::create_directories(unfinished);
    fs::permissions(place.directory, fs::perms::owner_all);
    const std::string user = login_name();
    const auto log_begin = size_of(place.log());
    // A shell script that does not quote the paths it is given: they are relative, and have no
    // character that a shell would take for its own.
    const pid_t child = platform::spawn(
        {"mariadb-install-db", "--no-defaults", "--skip-test-db",
         "--auth-root-authentication-method=socket", "--auth-root-socket-user=" + user,
         "--user=" + user, "--datadir=./" + unfinished.filename().string(), kTemporary},
        {.output = place.log(),
         .output_mode = platform::kSecretFile,
         .directory = place.directory});
    if (platform::wait_for_child(child) != 0) {
        throw IoError(fmt::format("Cannot create a database in {}: {}", data.string(),
                                  reason_in(place.log(), log_begin)));
    }
    fs::rename(unfinished, data);
}

std::vector<std::string> mariadb_command(const MariadbPlace& place) {
    return {"/usr/sbin/mariadbd",  // absolute: /usr/sbin is not in an ordinary user's PATH
            "--no-defaults",
            "--user=" + login_name(),
            "--datadir=" + (place.directory / "data").string(),
            kTemporary,
            "--socket=../" + place.socket().filename().string(),
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
    if (!is_made_of_letters(settings.name, "_")) {
        throw InputError(fmt::format(
            "the database's name \"{}\" is not of letters, digits and underscores", settings.name));
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
    const auto log_begin = size_of(place_.log());
    process_ = platform::spawn(mariadb_command(place_), {.output = place_.log(),
                                                         .output_mode = platform::kSecretFile,
                                                         .death_signal = kMariadbDeathSignal});
    const auto deadline = std::chrono::steady_clock::now() + kStartTimeout;
    for (;;) {
        if (platform::poll_child(process_)) {
            process_ = 0;
            throw IoError(fmt::format("The database in {} does not start: {}",
                                      place_.directory.string(),
                                      reason_in(place_.log(), log_begin)));
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
