// Keeps a project's daemons running: starts them in order, starts one that ended again after a
// pause that doubles, and stops them in the reverse order. Nothing it started outlives it: every
// child gets a signal when the supervisor dies, and what a child leaves behind is inherited and
// ended too.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "peer/platform/process.hpp"

namespace dedloc::cli {

struct Daemon {
    std::string name;  ///< unique; names the log and pid files
    platform::Command command;
    int stop_signal = SIGTERM;
    std::chrono::milliseconds timeout{8000};  ///< from the stop signal to SIGKILL
    bool is_done_by_exit_0 = false;  ///< ending with status 0 is success: not started again
};

/// Thread: owner only, which must be the process's first thread (children die with the thread that
/// made them).
class Supervisor final {
  public:
    using Clock = std::chrono::steady_clock;
    struct Folders {
        std::filesystem::path logs;  ///< NAME.log, appended to
        std::filesystem::path pids;  ///< NAME.pid, there while the daemon runs
    };

    explicit Supervisor(Folders folders);
    Supervisor(const Supervisor&) = delete;
    Supervisor& operator=(const Supervisor&) = delete;
    /// Stops everything.
    ~Supervisor();

    /// Starts a daemon and keeps it. Requires a name not in use. Errors: IoError.
    void start(Daemon daemon);
    /// Stops one daemon and forgets it; nothing happens if the name is unknown.
    void stop(const std::string& name);
    /// Stops all, the last started first, then ends whatever the daemons left behind.
    void stop_all();
    /// Reaps the ended and starts again those whose pause is over. Call it a few times a second.
    void advance(Clock::time_point now);

    bool knows(const std::string& name) const;
    bool is_running(const std::string& name) const;
    std::filesystem::path log_of(const std::string& name) const;

  private:
    struct Kept {
        Daemon daemon;
        pid_t child = 0;  ///< 0: not running
        Clock::time_point started{};
        Clock::time_point retry{};  ///< when to start it again
        std::chrono::milliseconds pause{0};
        bool is_done = false;
    };

    Kept* find(const std::string& name);
    void launch(Kept& kept, Clock::time_point now);
    void ended(Kept& kept, int status, Clock::time_point now);
    void end(Kept& kept);
    /// Children of ended daemons become ours; without this they would stay as zombies.
    void reap_strays();

    const Folders folders_;
    std::vector<Kept> kept_;
};

}  // namespace dedloc::cli
