// A tar archive compressed by zstd that ends with the SHA-256 digests of its files, in the form
// that `sha256sum -c` reads. `tar --zstd -xf` unpacks it on any machine. The last line of the
// digests, a comment, is the digest of all names and permissions; archives of earlier versions lack
// it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace dedloc::project {

/// Name of the last file in an archive.
inline constexpr const char* kDigestsName = "SHA256SUMS";

/// Called with the number of bytes of contents that have been read since the last call; may throw.
using ArchiveProgress = std::function<void(std::uint64_t bytes)>;

/// Writes an archive from its start to its end.
class ArchiveWriter final {
  public:
    /// Creates the file, readable by its owner only; its texts are from `time`. Errors: IoError.
    ArchiveWriter(std::filesystem::path file, std::time_t time, ArchiveProgress progress);
    ArchiveWriter(const ArchiveWriter&) = delete;
    ArchiveWriter& operator=(const ArchiveWriter&) = delete;
    ~ArchiveWriter();

    /// Adds a file with these contents, readable by its owner only. Errors: IoError.
    void add_text(const std::string& name, std::string_view text);
    /// Adds a file from the disk with as many bytes as it has at the call, at most `limit`: what is
    /// appended meanwhile is left out. False if there is no such file any more. Errors: IoError,
    /// also if the file becomes shorter meanwhile.
    bool add_file(const std::string& name, const std::filesystem::path& source,
                  std::uint64_t limit = std::numeric_limits<std::uint64_t>::max());
    /// Adds the digests and closes the archive when it is on the disk. Errors: IoError.
    void finish();

    /// Files added, without the digests.
    std::uint64_t files() const;

  private:
    struct State;
    const std::unique_ptr<State> state_;
};

/// A file in an archive.
struct ArchiveEntry {
    std::string name;         ///< relative, with "/" between its parts, none of them . or ..
    std::uint64_t bytes = 0;  ///< size of its contents
    mode_t mode = 0;          ///< permissions
};

/// Reads an archive of unknown origin from its start to its end. Every failure that is the
/// archive's is an InputError in one sentence that names it.
class ArchiveReader final {
  public:
    /// Errors: InputError (no such file, no archive).
    ArchiveReader(std::filesystem::path file, ArchiveProgress progress);
    ArchiveReader(const ArchiveReader&) = delete;
    ArchiveReader& operator=(const ArchiveReader&) = delete;
    ~ArchiveReader();

    /// The next file; nothing after the digests, which this class reads and compares itself.
    /// Errors: InputError (damaged or truncated, a digest that differs, a file twice, an unsafe
    /// name, no regular file, contents that were not read).
    std::optional<ArchiveEntry> next();
    /// The contents of the file that next() returned. Errors: InputError (more than `limit` bytes).
    std::string read_text(std::size_t limit);
    /// Writes these contents to a new file; they are on the disk at return. Errors: IoError.
    void extract(const std::filesystem::path& target, mode_t mode);

  private:
    struct State;
    const std::unique_ptr<State> state_;
};

}  // namespace dedloc::project
