// Old parts are shifted from the oldest on, so that each rename finds its target free or replaces
// the last part. rotate_in_place() copies whole blocks of the log's front to a temporary file,
// syncs it, shifts the parts and renames it to the first part; only then is the front cut off
// (fallocate), so a crash leaves lines twice rather than not at all. If the file system cannot cut,
// the rest is appended to that part until nothing is added meanwhile, and the log is emptied.
#include "project_server/project/log_rotation.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/posix_calls.hpp"

namespace dedloc::project {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPiece = std::size_t{1} << 20;  ///< bytes copied at once

/// An open file.
class File {
  public:
    File(const fs::path& path, int flags)
        : path_(path), file_(platform::open_to("open", path, flags, platform::kPublicFile)) {}

    std::uint64_t size() const { return static_cast<std::uint64_t>(facts().st_size); }
    std::uint64_t block() const { return static_cast<std::uint64_t>(facts().st_blksize); }
    int descriptor() const { return file_.id(); }
    const fs::path& path() const { return path_; }

  private:
    struct stat facts() const {
        struct stat status {};
        if (fstat(descriptor(), &status) != 0) platform::fail("read", path_, errno);
        return status;
    }

    const fs::path path_;
    const platform::Descriptor file_;
};

/// Appends bytes [begin, end) of `source` to `target`.
void copy(const File& source, const File& target, std::uint64_t begin, std::uint64_t end) {
    std::vector<std::byte> piece(kPiece);
    while (begin < end) {
        const auto wanted = std::min<std::uint64_t>(piece.size(), end - begin);
        const ssize_t count =
            pread(source.descriptor(), piece.data(), wanted, static_cast<off_t>(begin));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) platform::fail("read", source.path(), errno);
        if (count == 0) throw IoError(fmt::format("{} was cut", source.path().string()));
        if (!platform::write_all(target.descriptor(),
                                 std::span{piece}.first(static_cast<std::size_t>(count)))) {
            platform::fail("write", target.path(), errno);
        }
        begin += static_cast<std::uint64_t>(count);
    }
}

fs::path part(const fs::path& log, int number) {
    return log.string() + "." + std::to_string(number);
}

/// Makes place for a new first part; the last one is replaced.
void shift_parts(const fs::path& log, int parts) {
    for (int number = parts - 1; number >= 1; --number) {
        std::error_code absent;
        fs::rename(part(log, number), part(log, number + 1), absent);
    }
}

bool is_due(const fs::path& log, const LogLimits& limits) {
    std::error_code absent;
    const auto size = fs::file_size(log, absent);
    return !absent && size >= limits.bytes;
}

}  // namespace

bool rotate_by_renaming(const fs::path& log, const LogLimits& limits,
                        const std::function<void()>& reopen) {
    if (!is_due(log, limits)) return false;
    shift_parts(log, limits.parts);
    if (std::rename(log.c_str(), part(log, 1).c_str()) != 0) platform::fail("rename", log, errno);
    reopen();
    return true;
}

bool rotate_in_place(const fs::path& log, const LogLimits& limits) {
    if (!is_due(log, limits)) return false;
    const File source{log, O_RDWR};
    // Whole blocks, and fewer than the file has: the system cuts nothing else.
    const std::uint64_t front = (source.size() - 1) / source.block() * source.block();
    const fs::path temporary = log.string() + ".tmp";
    {
        const File target{temporary, O_WRONLY | O_CREAT | O_TRUNC};
        copy(source, target, 0, front);
    }
    platform::sync_file(temporary);
    shift_parts(log, limits.parts);
    platform::move_file(temporary, part(log, 1));
    if (front > 0 && fallocate(source.descriptor(), FALLOC_FL_COLLAPSE_RANGE, 0,
                               static_cast<off_t>(front)) == 0) {
        return true;
    }
    const File target{part(log, 1), O_WRONLY | O_APPEND};
    for (std::uint64_t copied = front, size = source.size(); copied < size; size = source.size()) {
        copy(source, target, copied, size);
        copied = size;
    }
    if (ftruncate(source.descriptor(), 0) != 0) platform::fail("empty", log, errno);
    return true;
}

}  // namespace dedloc::project
