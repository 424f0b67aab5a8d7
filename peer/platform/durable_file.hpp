// An append-only file that survives a crash at any moment. When a call returns, its effect is on
// the disk; otherwise it throws IoError with one sentence that says what failed and why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "peer/platform/descriptor.hpp"

namespace dedloc::platform {

/// An open file.
class DurableFile {
  public:
    /// How the file is opened.
    enum class Mode {
        kRead,    ///< for reading only; the file must exist
        kAppend,  ///< for appending; created if absent, and its folder entry is synced
    };

    /// Opens the file. Errors: IoError.
    DurableFile(std::filesystem::path path, Mode mode);

    /// Writes all of `bytes` at the end and waits until they are on the disk. On failure the file
    /// is truncated to its former length. Errors: IoError.
    void append(std::span<const std::byte> bytes);
    /// Reads out.size() bytes from `offset` on, or fewer at the end of the file. Returns how many.
    /// Errors: IoError.
    std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const;
    /// Truncates the file to `size` bytes, durably. Errors: IoError.
    void truncate(std::uint64_t size);
    /// Present size of the file in bytes. Errors: IoError.
    std::uint64_t size() const;
    /// The path that the file was opened with.
    const std::filesystem::path& path() const { return path_; }

  private:
    const std::filesystem::path path_;
    const Descriptor descriptor_;
};

}  // namespace dedloc::platform
