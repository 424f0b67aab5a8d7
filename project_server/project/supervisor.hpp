// Keeps a project's daemons running: starts them in order, restarts a daemon that ended after a
// pause that doubles each time, and stops them in the reverse order. No process that it started
// outlives it: every child gets a signal when the supervisor dies, and the supervisor inherits the
// orphans of its children and kills them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "peer/platform/process.hpp"
#include "project_server/project/daemon_files.hpp"

namespace dedloc::project {

/// A program to keep running.
struct Daemon {
    std::string name;                         ///< unique; names its log and pid files
    platform::Command command;                ///< program and arguments
    int death_signal = SIGTERM;               ///< what it gets when the supervisor dies
    std::chrono::milliseconds timeout{8000};  ///< time between SIGTERM, which stops it, and SIGKILL
    bool is_done_by_exit_0 = false;           ///< true: exit status 0 is success, so no restart
    std::filesystem::path directory{};        ///< its working folder; empty: the supervisor's
};

/// Starts, restarts and stops daemons. Thread: the process's first one only, because children get
/// their death signal when the thread that started them ends.
class Supervisor final {
  public:
    using Clock = std::chrono::steady_clock;
    /// Folders that the supervisor writes to.
    struct Folders {
        std::filesystem::path logs;  ///< NAME.log is appended to
        std::filesystem::path pids;  ///< daemon_files.hpp
    };

    /// Makes this process the subreaper of its descendants.
    explicit Supervisor(Folders folders);
    Supervisor(const Supervisor&) = delete;
    Supervisor& operator=(const Supervisor&) = delete;
    /// Stops everything.
    ~Supervisor();

    /// Starts a daemon and keeps it running. Requires a name not in use. Errors: IoError.
    void start(Daemon daemon);
    /// Stops one daemon and forgets it. Does nothing if the name is unknown.
    void stop(const std::string& name);
    /// Sends a signal to the daemon's process; does nothing if it does not run.
    void signal(const std::string& name, int number);
    /// Stops all daemons, the last started first, then kills the processes that they left behind.
    void stop_all();
    /// Reaps daemons that have ended and restarts those whose pause is over. Call it a few times a
    /// second.
    void advance(Clock::time_point now);

    /// Whether the daemon was started and not stopped; it may be between two runs.
    bool knows(const std::string& name) const;
    /// Whether its process runs now.
    bool is_running(const std::string& name) const;
    /// Path of its log file.
    std::filesystem::path log_of(const std::string& name) const;
    /// Why it ended or does not answer, by its log since its last start.
    std::string failure_of(const std::string& name);

  private:
    struct Kept {
        Daemon daemon;
        pid_t child = 0;  ///< 0: not running
        Clock::time_point started{};
        Clock::time_point retry{};  ///< when to start it again
        std::chrono::milliseconds pause{0};
        int starts = 0;
        std::uintmax_t log_begin = 0;  ///< size of its log at the last start
        bool is_done = false;
    };

    Kept* find(const std::string& name);
    void launch(Kept& kept, Clock::time_point now);
    void ended(Kept& kept, int status, Clock::time_point now);
    void end(Kept& kept);
    /// Reaps orphans of ended daemons, which would otherwise stay as zombies.
    void reap_strays();

    const Folders folders_;
    const DaemonFiles files_;
    std::vector<Kept> kept_;
};

}  // namespace dedloc::project
