// Files that must survive a crash at any moment: every call either leaves what it promises on the
// disk or throws, and says in one sentence what could not be written and why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace dedloc::backbone {

/// An open file descriptor. A resource: closed with the object.
class DurableFile {
  public:
    enum class Mode { kRead, kAppend };

    /// kAppend makes the file when it is absent and makes its name durable in the folder. Throws
    /// IoError.
    DurableFile(std::filesystem::path path, Mode mode);
    DurableFile(const DurableFile&) = delete;
    DurableFile& operator=(const DurableFile&) = delete;
    ~DurableFile();

    /// Writes all of `bytes` at the end and waits until the disk has them. On failure the file is
    /// cut back to its former length and IoError is thrown.
    void append(std::span<const std::byte> bytes);
    /// Reads up to out.size() bytes from `offset`; fewer only at the end of the file. Throws
    /// IoError.
    std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const;
    void truncate(std::uint64_t size);
    std::uint64_t size() const;
    const std::filesystem::path& path() const { return path_; }

  private:
    const std::filesystem::path path_;
    int descriptor_;
};

/// Replaces `path` as a whole: temporary file beside it, fsync, rename, fsync of the folder. A
/// crash or a full disk leaves the former file (or none) and no half of the new one under this
/// name. Throws IoError.
void write_file_atomically(const std::filesystem::path& path,
                           std::span<const std::span<const std::byte>> pieces);

/// Makes the name of this file, or that it is gone, durable in its folder. Throws IoError.
void sync_folder_of(const std::filesystem::path& path);

}  // namespace dedloc::backbone
