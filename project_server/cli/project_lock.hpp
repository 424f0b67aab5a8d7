// PROJECT/pids/supervisor.pid: held locked while the project runs, so a crash never leaves a
// project that looks alive.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>

namespace dedloc::cli {

class ProjectLock final {
  public:
    /// Takes the lock and writes our process id. Errors: InputError when the project is running
    /// already.
    explicit ProjectLock(const std::filesystem::path& project);
    ProjectLock(const ProjectLock&) = delete;
    ProjectLock& operator=(const ProjectLock&) = delete;
    /// Removes the file and gives the lock back.
    ~ProjectLock();

  private:
    const std::filesystem::path file_;
    int id_ = -1;
};

/// Process id of the supervisor of a running project.
std::optional<pid_t> supervisor_of(const std::filesystem::path& project);

}  // namespace dedloc::cli
