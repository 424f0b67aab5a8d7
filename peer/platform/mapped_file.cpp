// A private read-only mapping. The descriptor is closed at once, because the mapping keeps the
// file. An empty file has no mapping, since mmap() refuses a length of 0.
#include "peer/platform/mapped_file.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "peer/platform/posix_calls.hpp"

namespace dedloc::platform {

MappedFile::MappedFile(const std::filesystem::path& path) {
    const int descriptor = open_retrying(path, O_RDONLY);
    if (descriptor < 0) fail_to_read(path, errno);
    struct stat status {};
    int code = ::fstat(descriptor, &status) == 0 ? 0 : errno;
    if (code == 0 && S_ISDIR(status.st_mode)) code = EISDIR;
    if (code == 0 && status.st_size > 0) {
        const auto size = static_cast<std::size_t>(status.st_size);
        void* const begin = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (begin == MAP_FAILED) {
            code = errno;
        } else {
            bytes_ = {static_cast<const std::byte*>(begin), size};
        }
    }
    ::close(descriptor);
    if (code != 0) fail_to_read(path, code);
}

MappedFile::~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::forget_pages() const {
    // Advice: a failure changes nothing but the use of memory.
    if (bytes_.empty()) return;
    (void)::madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_DONTNEED);
}

}  // namespace dedloc::platform
