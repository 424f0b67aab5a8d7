#include "project_server/backbone/durable_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "peer/base/error.hpp"

namespace dedloc::backbone {
namespace {

[[noreturn]] void fail(std::string_view wanted, const std::filesystem::path& path) {
    const int code = errno;
    throw IoError(fmt::format("Cannot {} {}: {}.", wanted, path.string(), std::strerror(code)));
}

int open_retrying(const std::filesystem::path& path, int flags) {
    int descriptor = -1;
    do {
        descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
    } while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

/// False (and errno) when not all bytes could be written.
bool write_all(int descriptor, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const auto written = ::write(descriptor, bytes.data(), bytes.size());
        if (written < 0) {
            if (errno == EINTR) continue;
            return false;
        }
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return true;
}

}  // namespace

void sync_folder_of(const std::filesystem::path& path) {
    const auto folder = path.parent_path().empty() ? "." : path.parent_path();
    const int descriptor = open_retrying(folder, O_RDONLY | O_DIRECTORY);
    if (descriptor < 0) fail("open the folder", folder);
    const int status = ::fsync(descriptor);
    const int code = errno;
    ::close(descriptor);
    errno = code;
    if (status != 0) fail("make durable the folder", folder);
}

DurableFile::DurableFile(std::filesystem::path path, Mode mode)
    : path_(std::move(path)),
      descriptor_(
          open_retrying(path_, mode == Mode::kRead ? O_RDONLY : O_RDWR | O_CREAT | O_APPEND)) {
    if (descriptor_ < 0) fail("open", path_);
    if (mode == Mode::kRead) return;
    try {
        sync_folder_of(path_);
    } catch (...) {
        ::close(descriptor_);
        throw;
    }
}

DurableFile::~DurableFile() {
    ::close(descriptor_);
}

void DurableFile::append(std::span<const std::byte> bytes) {
    const auto former = size();
    if (write_all(descriptor_, bytes) && ::fdatasync(descriptor_) == 0) return;
    const int code = errno;
    // Best effort: what cannot be cut now is a torn tail, which the next start cuts.
    [[maybe_unused]] const int ignored = ::ftruncate(descriptor_, static_cast<off_t>(former));
    errno = code;
    fail("write", path_);
}

std::size_t DurableFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
    std::size_t done = 0;
    while (done < out.size()) {
        const auto count = ::pread(descriptor_, out.data() + done, out.size() - done,
                                   static_cast<off_t>(offset + done));
        if (count < 0) {
            if (errno == EINTR) continue;
            fail("read", path_);
        }
        if (count == 0) break;
        done += static_cast<std::size_t>(count);
    }
    return done;
}

void DurableFile::truncate(std::uint64_t size) {
    if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0 || ::fsync(descriptor_) != 0) {
        fail("cut the end of", path_);
    }
}

std::uint64_t DurableFile::size() const {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) fail("look at", path_);
    return static_cast<std::uint64_t>(status.st_size);
}

void write_file_atomically(const std::filesystem::path& path,
                           std::span<const std::span<const std::byte>> pieces) {
    const std::filesystem::path temporary = path.string() + ".tmp";
    const int descriptor = open_retrying(temporary, O_WRONLY | O_CREAT | O_TRUNC);
    if (descriptor < 0) fail("make", temporary);
    bool good = true;
    for (const auto& piece : pieces) good = good && write_all(descriptor, piece);
    good = good && ::fsync(descriptor) == 0;
    const int code = errno;
    const bool closed = ::close(descriptor) == 0;
    if (!good || !closed || ::rename(temporary.c_str(), path.c_str()) != 0) {
        const int reason = good ? errno : code;
        ::unlink(temporary.c_str());
        errno = reason;
        fail("write", path);
    }
    sync_folder_of(path);
}

}  // namespace dedloc::backbone
