// flock() on the folder itself, so there is no lock file that a crash could leave behind. Closing
// the descriptor releases the lock.
#include "peer/platform/folder_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>

#include "peer/base/error.hpp"
#include "peer/platform/posix_calls.hpp"

namespace dedloc::platform {

FolderLock::FolderLock(const std::filesystem::path& folder, Sharing sharing)
    : descriptor_(open_to("open", folder, O_RDONLY | O_DIRECTORY)) {
    const int kind = sharing == Sharing::kExclusive ? LOCK_EX : LOCK_SH;
    const int wait = sharing == Sharing::kAwaited ? 0 : LOCK_NB;
    int failed = ::flock(descriptor_.id(), kind | wait);
    while (failed != 0 && errno == EINTR) failed = ::flock(descriptor_.id(), kind | wait);
    if (failed == 0) return;
    if (errno != EWOULDBLOCK) fail("lock", folder, errno);
    throw IoError(fmt::format("{} is in use by another process", folder.string()));
}

}  // namespace dedloc::platform
