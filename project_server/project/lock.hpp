// PROJECT/pids/supervisor.pid, locked while the project runs. The kernel releases the lock when the
// process dies, so a crashed project never looks alive.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>

#include "peer/platform/descriptor.hpp"

namespace dedloc::project {

/// Holds the lock of a project.
class ProjectLock final {
  public:
    /// Takes the lock and writes our process id. Errors: InputError when the project is running
    /// already, IoError.
    explicit ProjectLock(const std::filesystem::path& project);
    ProjectLock(const ProjectLock&) = delete;
    ProjectLock& operator=(const ProjectLock&) = delete;
    /// Removes the file and releases the lock.
    ~ProjectLock();

  private:
    const std::filesystem::path file_;
    const platform::Descriptor lock_;
};

/// Process id of the supervisor of a running project; nothing if the project does not run.
std::optional<pid_t> supervisor_of(const std::filesystem::path& project);

}  // namespace dedloc::project
