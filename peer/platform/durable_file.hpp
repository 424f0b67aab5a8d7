// A file that grows at its end and must survive a crash at any moment: every call either leaves
// what it promises on the disk or throws IoError, which says in one sentence what failed and why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace dedloc::platform {

/// An open file descriptor. A resource: closed with the object.
class DurableFile {
  public:
    enum class Mode {
        kRead,    ///< must exist
        kAppend,  ///< created when absent, and its name made durable in the folder
    };

    /// Errors: IoError.
    DurableFile(std::filesystem::path path, Mode mode);
    DurableFile(const DurableFile&) = delete;
    DurableFile& operator=(const DurableFile&) = delete;
    ~DurableFile();

    /// Writes all of `bytes` at the end and waits until the disk has them. On failure the file is
    /// cut back to its former length. Errors: IoError.
    void append(std::span<const std::byte> bytes);
    /// Reads up to out.size() bytes from `offset`; fewer only at the end of the file.
    /// Errors: IoError.
    std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const;
    /// Cuts the file to `size` bytes, durably. Errors: IoError.
    void truncate(std::uint64_t size);
    /// Bytes in the file now. Errors: IoError.
    std::uint64_t size() const;
    const std::filesystem::path& path() const { return path_; }

  private:
    const std::filesystem::path path_;
    int descriptor_;
};

}  // namespace dedloc::platform
