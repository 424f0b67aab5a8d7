// Plain write() calls on one descriptor. Only finish() waits for the disk.
#include "peer/platform/file_writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/platform/posix_calls.hpp"

namespace dedloc::platform {

FileWriter::FileWriter(std::filesystem::path path, mode_t mode)
    : path_(std::move(path)),
      descriptor_(open_to("write", path_, O_WRONLY | O_CREAT | O_TRUNC, mode)) {}

void FileWriter::write(std::span<const std::byte> bytes) {
    DEDLOC_CHECK(descriptor_.id() >= 0, "a finished file cannot be written");
    if (!write_all(descriptor_.id(), bytes)) fail("write", path_, errno);
}

void FileWriter::finish() {
    DEDLOC_CHECK(descriptor_.id() >= 0, "a file is finished once");
    const int unsynced = ::fsync(descriptor_.id()) == 0 ? 0 : errno;
    const int unclosed = descriptor_.close();
    if (unsynced != 0 || unclosed != 0) fail("write", path_, unsynced != 0 ? unsynced : unclosed);
}

}  // namespace dedloc::platform
