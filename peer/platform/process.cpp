// fork() and exec() with a close-on-exec pipe: the child writes errno to it if exec fails, and the
// parent reads end of file if exec succeeds. Between fork and exec the child may make
// async-signal-safe calls only, because other threads may have held locks at the time of the fork.
// The child inherits every descriptor that is not close-on-exec: open all of them with O_CLOEXEC.
#include "peer/platform/process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <string_view>

#include "peer/platform/posix_calls.hpp"

namespace dedloc::platform {
namespace {

/// How programs mark an error: MariaDB's, nginx, daemons of this project (peer/base/log), a shell
/// of a program that a limit has ended, others.
constexpr std::array<std::string_view, 10> kErrorMarks = {
    "[ERROR]", "ERROR ", "ERROR:",       "[emerg]",        "[alert]",
    "error:",  "Error:", "check failed", "limit exceeded", "failed!"};

/// MariaDB's last line, which says nothing of the reason.
bool is_farewell(std::string_view line) {
    return line.ends_with("[ERROR] Aborting");
}

bool reports_error(std::string_view line) {
    return !is_farewell(line) && std::ranges::any_of(kErrorMarks, [&](const std::string_view mark) {
        return line.find(mark) != std::string_view::npos;
    });
}

/// Whether the line begins with a program's name or path and a colon, as most programs report what
/// has failed: "chown: invalid user". The name is in lower case, as "Note: " is none.
bool names_its_program(std::string_view line) {
    const std::string_view name = line.substr(0, line.find(": "));
    if (name.size() == line.size()) return false;
    if (name.starts_with('/')) return name.find(' ') == std::string_view::npos;
    constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
    return !name.empty() && name.find_first_not_of(kCharacters) == std::string_view::npos;
}

int exit_status_of(int wait_status) {
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/// Descriptors that become stdin, stdout and stderr of the child; −1: /dev/null for the first, and
/// ours for the others.
struct Streams {
    int input = -1;
    int output = -1;
    int errors = -1;
};

/// The child between fork and exec: async-signal-safe calls only.
[[noreturn]] void become(char* const* arguments, const Streams& streams, const char* directory,
                         int death_signal, pid_t parent, int error_pipe) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, death_signal);
    if (getppid() != parent) _exit(127);  // the parent died before prctl took effect
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) {
        std::signal(signal, SIG_DFL);
    }
    const int input = streams.input >= 0 ? streams.input : open("/dev/null", O_RDWR | O_CLOEXEC);
    if (input >= 0) dup2(input, 0);
    if (streams.output >= 0) dup2(streams.output, 1);
    if (streams.errors >= 0) dup2(streams.errors, 2);
    if (*directory == '\0' || chdir(directory) == 0) execvp(arguments[0], arguments);
    const int reason = errno;
    [[maybe_unused]] const auto written = write(error_pipe, &reason, sizeof reason);
    _exit(127);
}

pid_t fork_and_exec(const Command& command, const Streams& streams,
                    const std::filesystem::path& directory, int death_signal) {
    std::vector<char*> arguments;
    for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    Pipe error_pipe = make_pipe();
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) {
        become(arguments.data(), streams, directory.c_str(), death_signal, parent,
               error_pipe.writer.id());
    }
    int reason = child < 0 ? errno : 0;
    error_pipe.writer.close();
    if (child > 0 && read(error_pipe.reader.id(), &reason, sizeof reason) > 0) {
        waitpid(child, nullptr, 0);
    }
    if (reason != 0) fail("start", command[0], reason);
    return child;
}

}  // namespace

pid_t spawn(const Command& command, const SpawnOptions& options) {
    Descriptor output;
    if (!options.output.empty()) {
        output =
            open_to("open", options.output, O_WRONLY | O_CREAT | O_APPEND, options.output_mode);
    }
    return fork_and_exec(
        command,
        {.input = options.standard_input,
         .output = options.standard_output >= 0 ? options.standard_output : output.id(),
         .errors = output.id()},
        options.directory, options.death_signal);
}

Finished run_to_end(const Command& command) {
    Pipe output = make_pipe();
    const int end = output.writer.id();
    const pid_t child = fork_and_exec(command, {.output = end, .errors = end}, {}, SIGKILL);
    output.writer.close();
    Finished finished;
    std::array<char, 4096> piece{};
    for (;;) {
        const ssize_t count = read(output.reader.id(), piece.data(), piece.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        finished.output.append(piece.data(), static_cast<std::size_t>(count));
    }
    finished.status = wait_for_child(child);
    return finished;
}

int wait_for_child(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return exit_status_of(status);
}

std::optional<int> poll_child(pid_t child) {
    int status = 0;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == 0) return std::nullopt;
    return ended == child ? exit_status_of(status) : 0;
}

std::string failure_in(const std::filesystem::path& log, std::uintmax_t begin) {
    std::ifstream input(log, std::ios::binary | std::ios::ate);
    const auto size = static_cast<std::streamoff>(input.tellg());
    const auto offset = static_cast<std::streamoff>(begin);
    input.seekg(offset <= size ? offset : 0);  // a log that was rotated begins anew
    std::string last;
    std::string named;
    for (std::string line; std::getline(input, line);) {
        if (reports_error(line)) return line;
        if (named.empty() && names_its_program(line)) named = line;
        if (!is_farewell(line) && line.find_first_not_of(" \t\r") != std::string::npos) last = line;
    }
    return named.empty() ? last : named;
}

}  // namespace dedloc::platform
