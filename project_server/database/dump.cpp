// The programs read the password from an option file that only the owner can read: arguments and
// environment of a process are visible to others.
#include "project_server/database/dump.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <system_error>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/memory_file.hpp"
#include "peer/platform/posix_calls.hpp"
#include "peer/platform/process.hpp"

namespace dedloc::server {
namespace {

namespace fs = std::filesystem;

std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        if (c == '\n') result += "\\n";
        if (c != '\n') result += c;
    }
    return result + '"';
}

/// A temporary file that is removed at the end.
class Scratch {
  public:
    Scratch(const fs::path& folder, const char* name) : path_(folder / name) { remove(); }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() { remove(); }
    const fs::path& path() const { return path_; }

  private:
    void remove() const {
        std::error_code ignored;
        fs::remove(path_, ignored);
    }
    const fs::path path_;
};

std::string option_file(const DatabaseSettings& settings) {
    std::string text = "[client]\n";
    if (settings.socket.empty()) {
        text +=
            fmt::format("protocol=tcp\nhost={}\nport={}\n", quoted(settings.host), settings.port);
        if (!settings.ssl_ca.empty()) {
            text += fmt::format("ssl-ca={}\nssl-verify-server-cert\n", quoted(settings.ssl_ca));
        }
        if (!settings.ssl_cert.empty()) {
            text += fmt::format("ssl-cert={}\nssl-key={}\n", quoted(settings.ssl_cert),
                                quoted(settings.ssl_key));
        }
    } else {
        // The program runs in its folder, as a socket has 107 bytes for its path.
        text += fmt::format("socket={}\n", quoted(fs::path{settings.socket}.filename().string()));
    }
    text += fmt::format("user={}\n", quoted(settings.user));
    if (!settings.password.empty()) {
        text += fmt::format("password={}\n", quoted(settings.password));
    }
    return text;
}

/// What a program's error means to an administrator; it may give errno as a number.
std::string reason_of(const std::string& line, int status) {
    constexpr std::string_view kMark = "errno ";
    const auto at = line.find(kMark);
    int number = 0;
    if (at != std::string::npos) {
        const char* const digits = line.data() + at + kMark.size();
        std::from_chars(digits, line.data() + line.size(), number);
    }
    if (number != 0) return std::strerror(number);
    return line.empty() ? fmt::format("the program ended with status {}", status) : line;
}

/// Descriptors that a program reads and prints to; −1: none.
struct Ends {
    int input = -1;
    int output = -1;
};

/// Runs a program of MariaDB's.
void run(const DatabaseSettings& settings, platform::Command command, const Ends& ends,
         const fs::path& scratch, const std::string& what) {
    const Scratch options{fs::absolute(scratch), "options.cnf"};
    const platform::MemoryFile words;  // the disk may be full
    platform::replace_file(options.path(), option_file(settings), platform::kSecretFile);
    command.insert(command.begin() + 1, "--defaults-file=" + options.path().string());
    const pid_t child =
        platform::spawn(command, {.output = words.path(),
                                  .standard_input = ends.input,
                                  .standard_output = ends.output,
                                  .directory = fs::path{settings.socket}.parent_path()});
    const int status = platform::wait_for_child(child);
    if (status == 0) return;
    throw IoError(
        fmt::format("{}: {}", what, reason_of(platform::failure_in(words.path()), status)));
}

}  // namespace

void dump_database(const DatabaseSettings& settings, const fs::path& file,
                   const fs::path& scratch) {
    const auto output =
        platform::open_to("write", file, O_WRONLY | O_CREAT | O_EXCL, platform::kSecretFile);
    // One snapshot of all tables, which are InnoDB's, without a lock.
    run(settings,
        {"mariadb-dump", "--single-transaction", "--skip-lock-tables", "--no-tablespaces",
         "--skip-triggers", "--hex-blob", "--default-character-set=utf8mb4",
         "--max-allowed-packet=32M", settings.name},
        {.output = output.id()}, scratch,
        fmt::format("cannot copy the database to {}", file.string()));
}

void load_dump(const DatabaseSettings& settings, const fs::path& file, const fs::path& scratch) {
    // Not by the client's command "source", which ends a path at a semicolon.
    const auto input = platform::open_to("read", file, O_RDONLY);
    run(settings,
        {"mariadb", "--batch", "--default-character-set=utf8mb4", "--max-allowed-packet=32M",
         settings.name},
        {.input = input.id()}, scratch,
        fmt::format("cannot load the database from {}", file.string()));
}

}  // namespace dedloc::server
