#include "project_server/project/lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "peer/base/error.hpp"

namespace dedloc::project {

ProjectLock::ProjectLock(const std::filesystem::path& project)
    : file_(project / "pids/supervisor.pid") {
    id_ = open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (id_ < 0) {
        throw IoError(fmt::format("cannot write {}: {}", file_.string(), std::strerror(errno)));
    }
    if (flock(id_, LOCK_EX | LOCK_NB) != 0) {
        close(id_);
        throw InputError(fmt::format("the project {} is running already", project.string()));
    }
    const auto text = std::to_string(getpid()) + "\n";
    if (ftruncate(id_, 0) != 0 || write(id_, text.data(), text.size()) < 0) {
        const int reason = errno;
        close(id_);
        throw IoError(fmt::format("cannot write {}: {}", file_.string(), std::strerror(reason)));
    }
}

ProjectLock::~ProjectLock() {
    unlink(file_.c_str());
    close(id_);
}

std::optional<pid_t> supervisor_of(const std::filesystem::path& project) {
    const auto file = project / "pids/supervisor.pid";
    const int id = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (id < 0) return std::nullopt;
    const bool is_held = flock(id, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(id);
    pid_t process = 0;
    if (!is_held || !(std::ifstream(file) >> process)) return std::nullopt;
    return process;
}

}  // namespace dedloc::project
