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
      descriptor_(open_retrying(path_, O_WRONLY | O_CREAT | O_TRUNC, mode)) {
    if (descriptor_ < 0) fail("write", path_, errno);
}

FileWriter::~FileWriter() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

void FileWriter::write(std::span<const std::byte> bytes) {
    DEDLOC_CHECK(descriptor_ >= 0, "a finished file cannot be written");
    if (!write_all(descriptor_, bytes)) fail("write", path_, errno);
}

void FileWriter::finish() {
    DEDLOC_CHECK(descriptor_ >= 0, "a file is finished once");
    int code = ::fsync(descriptor_) == 0 ? 0 : errno;
    if (::close(std::exchange(descriptor_, -1)) != 0 && code == 0) code = errno;
    if (code != 0) fail("write", path_, code);
}

}  // namespace dedloc::platform
