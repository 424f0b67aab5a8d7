// One process of a daemon after another under an official BOINC server. bin/stop sends SIGHUP and
// does not wait; bin/start skips a daemon as long as a process holds the lock file that bin/start
// has locked for it. So a daemon that needs a second to end would not be started again. Here it
// gives that lock up as soon as the signal arrives, and its successor waits until it has ended: for
// that there is a lock of ours, PROJECT/dedloc/pids/NAME.lock.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "peer/platform/descriptor.hpp"
#include "peer/platform/stop_signals.hpp"

namespace dedloc::server {

/// A daemon's turn, from construction to destruction. Does nothing in a project of ours, whose
/// supervisor waits for its daemons. Thread: one.
class Handover final {
  public:
    /// Waits until the predecessor has ended or a signal arrives. `signals` must outlive it.
    /// Errors: IoError.
    Handover(const std::filesystem::path& project, const std::string& name,
             const platform::StopSignals& signals);
    Handover(const Handover&) = delete;
    Handover& operator=(const Handover&) = delete;
    ~Handover();

    /// Whether it is this process's turn. False: a signal arrived while it waited.
    bool has_begun() const { return has_begun_; }
    /// Gives bin/start's lock up. Call it when a wait for signals has returned, before anything
    /// that takes time; a signal during other work gives it up by itself.
    void give_way();

  private:
    class Watch;
    bool has_begun_ = true;
    platform::Descriptor lock_;  ///< ours; held until the watch has ended
    std::unique_ptr<Watch> watch_;
};

/// A daemon that runs, or still ends.
struct RunningDaemon {
    std::string name;   ///< its program
    pid_t process = 0;  ///< 0: does not run
    double since = 0;   ///< UTC seconds when its turn began
};
/// The daemons that have a turn, by name.
std::vector<RunningDaemon> daemons_in_turn(const std::filesystem::path& project);

}  // namespace dedloc::server
