// POSIX calls in the order that survives power loss on common filesystems: write and sync the data
// of a temporary file, rename it, sync the folder. Calls interrupted by a signal are repeated.
// Errno is saved before unlink(), which may change it.
#include "peer/platform/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/posix_calls.hpp"

namespace dedloc::platform {
namespace {

/// Returns 0 once all pieces are on the disk, or the errno of the first call that failed.
int write_synced(const std::filesystem::path& path,
                 std::span<const std::span<const std::byte>> pieces, mode_t mode) {
    Descriptor file = try_open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
    if (!file) return errno;
    for (const auto& piece : pieces) {
        if (!write_all(file.id(), piece)) return errno;
    }
    if (::fsync(file.id()) != 0) return errno;
    return file.close();
}

}  // namespace

bool write_all(int descriptor, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return true;
}

Buffer read_file(const std::filesystem::path& path, std::size_t limit) {
    const Descriptor file = try_open(path, O_RDONLY);
    if (!file) fail_to_read(path, errno);
    Buffer bytes;
    // Read until the end, because files under /proc report no size and a file may grow meanwhile.
    while (bytes.size() <= limit) {
        constexpr std::size_t kPieceBytes = 65'536;
        struct stat status {};
        std::size_t wanted = kPieceBytes;
        if (bytes.empty() && ::fstat(file.id(), &status) == 0 && status.st_size > 0) {
            wanted = static_cast<std::size_t>(status.st_size) + 1;
        }
        const std::size_t done = bytes.size();
        bytes.resize(done + std::min(wanted, limit + 1 - done));
        const ssize_t got = ::read(file.id(), bytes.data() + done, bytes.size() - done);
        bytes.resize(done + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail_to_read(path, errno);
        if (got == 0) break;
    }
    if (bytes.size() > limit) {
        throw InputError(fmt::format("{} has more than {} bytes", path.string(), limit));
    }
    return bytes;
}

std::string read_text(const std::filesystem::path& path, std::size_t limit) {
    const Buffer bytes = read_file(path, limit);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void replace_file(const std::filesystem::path& path,
                  std::span<const std::span<const std::byte>> pieces, mode_t mode) {
    std::filesystem::path temporary = path;
    temporary += ".tmp";
    int code = write_synced(temporary, pieces, mode);
    if (code == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) code = errno;
    if (code != 0) {
        ::unlink(temporary.c_str());
        fail("write", path, code);
    }
    sync_folder_of(path);
}

void replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes,
                  mode_t mode) {
    const std::array pieces{bytes};
    replace_file(path, std::span<const std::span<const std::byte>>{pieces}, mode);
}

void replace_file(const std::filesystem::path& path, std::string_view text, mode_t mode) {
    replace_file(path, std::as_bytes(std::span{text}), mode);
}

void sync_file(const std::filesystem::path& path) {
    const Descriptor file = open_to("open", path, O_RDONLY);
    if (::fsync(file.id()) != 0) fail("sync", path, errno);
}

void move_file(const std::filesystem::path& from, const std::filesystem::path& to) {
    if (::rename(from.c_str(), to.c_str()) != 0) fail("write", to, errno);
    sync_folder_of(to);
}

void remove_or_warn(const std::filesystem::path& path) {
    std::error_code error;
    std::filesystem::remove(path, error);
    if (error) log_warning("cannot remove {}: {}", path.string(), error.message());
}

void sync_folder_of(const std::filesystem::path& path) {
    const auto folder = path.parent_path().empty() ? "." : path.parent_path();
    const Descriptor opened = open_to("open the folder", folder, O_RDONLY | O_DIRECTORY);
    // EINVAL: this filesystem cannot sync a folder, as some network and FUSE filesystems.
    if (::fsync(opened.id()) != 0 && errno != EINVAL) fail("sync the folder", folder, errno);
}

}  // namespace dedloc::platform
