// A private read-only mapping. The descriptor is closed at once, because the mapping keeps the
// file. An empty file has no mapping, since mmap() refuses a length of 0.
#include "peer/platform/mapped_file.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include "peer/platform/posix_calls.hpp"

namespace dedloc::platform {

MappedFile::MappedFile(const std::filesystem::path& path) {
    const Descriptor file = try_open(path, O_RDONLY);
    struct stat status {};
    if (!file || ::fstat(file.id(), &status) != 0) fail_to_read(path, errno);
    if (S_ISDIR(status.st_mode)) fail_to_read(path, EISDIR);
    if (status.st_size == 0) return;
    const auto size = static_cast<std::size_t>(status.st_size);
    void* const begin = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.id(), 0);
    if (begin == MAP_FAILED) fail_to_read(path, errno);
    bytes_ = {static_cast<const std::byte*>(begin), size};
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
