// An append is a write followed by fdatasync(). After an error the file is truncated to its former
// length, so that a failed append leaves no partial record. A crash between write and sync can
// still leave one: readers must expect a torn record at the end.
#include "peer/platform/durable_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "peer/platform/files.hpp"
#include "peer/platform/posix_calls.hpp"

namespace dedloc::platform {

DurableFile::DurableFile(std::filesystem::path path, Mode mode)
    : path_(std::move(path)),
      descriptor_(open_to("open", path_,
                          mode == Mode::kRead ? O_RDONLY : O_RDWR | O_CREAT | O_APPEND,
                          kPublicFile)) {
    if (mode == Mode::kAppend) sync_folder_of(path_);
}

void DurableFile::append(std::span<const std::byte> bytes) {
    const auto former = size();
    if (write_all(descriptor_.id(), bytes) && ::fdatasync(descriptor_.id()) == 0) return;
    const int code = errno;
    // Best effort: if the torn tail cannot be removed now, the next start removes it.
    [[maybe_unused]] const int ignored = ::ftruncate(descriptor_.id(), static_cast<off_t>(former));
    fail("write", path_, code);
}

std::size_t DurableFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
    std::size_t done = 0;
    while (done < out.size()) {
        const auto count = ::pread(descriptor_.id(), out.data() + done, out.size() - done,
                                   static_cast<off_t>(offset + done));
        if (count < 0) {
            if (errno == EINTR) continue;
            fail("read", path_, errno);
        }
        if (count == 0) break;
        done += static_cast<std::size_t>(count);
    }
    return done;
}

void DurableFile::truncate(std::uint64_t size) {
    if (::ftruncate(descriptor_.id(), static_cast<off_t>(size)) != 0 ||
        ::fsync(descriptor_.id()) != 0) {
        fail("truncate", path_, errno);
    }
}

std::uint64_t DurableFile::size() const {
    struct stat status {};
    if (::fstat(descriptor_.id(), &status) != 0) fail("get the size of", path_, errno);
    return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace dedloc::platform
