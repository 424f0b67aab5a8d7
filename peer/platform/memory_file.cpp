// memfd_create(): its pages belong to the process and are freed with the last descriptor.
#include "peer/platform/memory_file.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "peer/base/bytes.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/posix_calls.hpp"

namespace dedloc::platform {

MemoryFile::MemoryFile(std::string_view text)
    : descriptor_(memfd_create("memory_file", MFD_CLOEXEC)) {
    if (!descriptor_) fail("make", "a file in memory", errno);
    if (!write_all(descriptor(), bytes_of(text))) fail("write", "a file in memory", errno);
    lseek(descriptor(), 0, SEEK_SET);
}

std::filesystem::path MemoryFile::path() const {
    return fmt::format("/proc/self/fd/{}", descriptor());
}

}  // namespace dedloc::platform
