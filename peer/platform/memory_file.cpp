// memfd_create(): its pages belong to the process and are freed with the last descriptor.
#include "peer/platform/memory_file.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "peer/base/error.hpp"

namespace dedloc::platform {

MemoryFile::MemoryFile(std::string_view text)
    : descriptor_(memfd_create("memory_file", MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw IoError(fmt::format("cannot make a file: {}", std::strerror(errno)));
    while (!text.empty()) {
        const ssize_t written = write(descriptor_, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) {
            const int reason = errno;
            close(descriptor_);
            throw IoError(fmt::format("cannot write a file: {}", std::strerror(reason)));
        }
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    lseek(descriptor_, 0, SEEK_SET);
}

MemoryFile::~MemoryFile() {
    close(descriptor_);
}

std::filesystem::path MemoryFile::path() const {
    return fmt::format("/proc/self/fd/{}", descriptor_);
}

}  // namespace dedloc::platform
