// flock() on the folder itself, so there is no lock file that a crash could leave behind. Closing
// the descriptor releases the lock.
#include "peer/platform/folder_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "peer/base/error.hpp"

namespace dedloc::platform {

FolderLock::FolderLock(const std::filesystem::path& folder, Sharing sharing)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor_ < 0) {
        throw IoError(fmt::format("cannot open {}: {}", folder.string(), std::strerror(errno)));
    }
    const int kind = sharing == Sharing::kExclusive ? LOCK_EX : LOCK_SH;
    const int wait = sharing == Sharing::kAwaited ? 0 : LOCK_NB;
    int failed = ::flock(descriptor_, kind | wait);
    while (failed != 0 && errno == EINTR) failed = ::flock(descriptor_, kind | wait);
    if (failed == 0) return;
    const int reason = errno;
    ::close(descriptor_);
    throw IoError(reason == EWOULDBLOCK
                      ? fmt::format("{} is in use by another process", folder.string())
                      : fmt::format("cannot lock {}: {}", folder.string(), std::strerror(reason)));
}

FolderLock::~FolderLock() {
    ::close(descriptor_);
}

}  // namespace dedloc::platform
