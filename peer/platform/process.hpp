// Child processes. All are started here, so that each one ends with its parent and inherits no open
// files and no blocked signals.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "peer/platform/files.hpp"

namespace dedloc::platform {

/// A program (a path, or a name that is looked up in PATH) and its arguments.
using Command = std::vector<std::string>;

/// How a child is started.
struct SpawnOptions {
    /// File that stdout and stderr are appended to; empty: the child inherits ours.
    std::filesystem::path output;
    mode_t output_mode = kPublicFile;   ///< permissions of that file if it is created
    int standard_input = -1;            ///< descriptor that replaces stdin; −1: /dev/null
    int standard_output = -1;           ///< descriptor that replaces stdout; −1: none
    std::filesystem::path directory{};  ///< working folder of the child; empty: ours
    int death_signal = SIGTERM;         ///< what the child gets when its parent thread ends
};

/// Starts `command` in its own process group, with no open files except stdin, stdout and stderr,
/// and with no blocked signals.
///
/// Errors    IoError if the program cannot be started or the working folder not be entered
/// Thread    one that lives as long as this process: the child gets death_signal when it ends
pid_t spawn(const Command& command, const SpawnOptions& options);

/// The result of run_to_end().
struct Finished {
    int status = 0;      ///< exit status; 128 + signal if a signal ended it
    std::string output;  ///< stdout and stderr together
};
/// Runs `command` to its end and collects its output. Errors: IoError if it cannot be started.
Finished run_to_end(const Command& command);

/// Exit status of a child that has ended (128 + signal if a signal ended it); nothing while it is
/// running. 0 if it is not a child of this process or if its status has been fetched already.
std::optional<int> poll_child(pid_t child);

/// Waits for a child to end. Returns its exit status (128 + signal if a signal ended it).
int wait_for_child(pid_t child);

/// Why a program failed, by what it wrote to `log` after the first `begin` bytes (all of it if the
/// log is shorter): its first line that reports an error, because advice and consequences follow
/// it; without one the first that begins with a program's name and a colon; else the last that is
/// not blank. Empty if there is no line or no file.
std::string failure_in(const std::filesystem::path& log, std::uintmax_t begin = 0);

}  // namespace dedloc::platform
