// Child processes: started in one place, so that each dies with us and inherits nothing it should
// not have.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "peer/platform/files.hpp"

namespace dedloc::platform {

using Command = std::vector<std::string>;

struct SpawnOptions {
    /// stdout and stderr are appended to this file; empty: they are inherited.
    std::filesystem::path output;
    mode_t output_mode = kPublicFile;  ///< of that file, if it is created
    int standard_output = -1;          ///< a descriptor for stdout instead; −1: none
    int death_signal = SIGTERM;  ///< sent to the child when this process dies, however it dies
};

/// Starts `command` (first word: a path, or a name looked up in PATH) in a process group of its
/// own, with no open files but 0, 1, 2 and with no blocked signals. Errors   IoError when the
/// program cannot be started. Thread  the one that lives as long as the process.
pid_t spawn(const Command& command, const SpawnOptions& options);

struct Finished {
    int status = 0;      ///< exit status; 128 + signal if one ended it
    std::string output;  ///< stdout and stderr
};
/// Runs `command` to its end and collects what it printed. Errors: IoError when it cannot be
/// started.
Finished run_to_end(const Command& command);

/// Exit status of a child that has ended (128 + signal if a signal ended it); nothing while it
/// runs.
std::optional<int> poll_child(pid_t child);

/// Waits until the child has ended, and returns its exit status (128 + signal if one ended it).
int wait_for_child(pid_t child);

/// The last line of a file that is not blank; empty if there is none.
std::string last_line(const std::filesystem::path& file);

}  // namespace dedloc::platform
