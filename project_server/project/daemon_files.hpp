// What a supervisor writes about its daemons, for other processes: pids/NAME.pid while a daemon
// runs, and pids/NAME.restarts, as long as it is to run: the number of restarts, and the size of
// its log when it was started last.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace dedloc::project {

/// Writes them. The files are not synced: after a crash of the machine nothing runs.
class DaemonFiles final {
  public:
    /// Removes what a supervisor that was killed has left in the folder.
    explicit DaemonFiles(std::filesystem::path folder);

    // What has become of the daemon.
    void started(const std::string& name, pid_t process, int restarts,
                 std::uintmax_t log_begin) const;
    void ended(const std::string& name) const;     ///< it will be restarted
    void finished(const std::string& name) const;  ///< it is not to run any more

  private:
    std::filesystem::path file(const std::string& name, const char* end) const;

    const std::filesystem::path folder_;
};

/// A daemon that is to run.
struct DaemonState {
    std::string name;              ///< names its log
    pid_t process = 0;             ///< 0: it does not run now
    int restarts = 0;              ///< since the supervisor's start
    double since = 0;              ///< UTC seconds when the process was started
    std::uintmax_t log_begin = 0;  ///< size of its log when it was started last
};
/// The daemons of the supervisor that writes to this folder, by name. Requires that it is alive:
/// else they are those of a supervisor that was killed.
std::vector<DaemonState> daemon_states(const std::filesystem::path& folder);

}  // namespace dedloc::project
