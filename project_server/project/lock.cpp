#include "project_server/project/lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "peer/base/bytes.hpp"
#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/posix_calls.hpp"

namespace dedloc::project {

ProjectLock::ProjectLock(const std::filesystem::path& project)
    : file_(project / "pids/supervisor.pid"),
      lock_(platform::open_to("write", file_, O_RDWR | O_CREAT, platform::kPublicFile)) {
    if (flock(lock_.id(), LOCK_EX | LOCK_NB) != 0) {
        throw InputError(fmt::format("the project {} is running already", project.string()));
    }
    const auto text = std::to_string(getpid()) + "\n";
    if (ftruncate(lock_.id(), 0) != 0 || !platform::write_all(lock_.id(), bytes_of(text))) {
        platform::fail("write", file_, errno);
    }
}

ProjectLock::~ProjectLock() {
    unlink(file_.c_str());
}

std::optional<pid_t> supervisor_of(const std::filesystem::path& project) {
    const auto file = project / "pids/supervisor.pid";
    platform::Descriptor lock = platform::try_open(file, O_RDONLY);
    if (!lock) return std::nullopt;
    const bool is_held = flock(lock.id(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    lock.close();
    pid_t process = 0;
    if (!is_held || !(std::ifstream(file) >> process)) return std::nullopt;
    return process;
}

}  // namespace dedloc::project
