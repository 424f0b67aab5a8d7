// A file read in place: its pages come from the disk when they are first touched, and the system
// may drop them again.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace dedloc::platform {

/// Maps a whole file for reading.
///
/// The file must not change meanwhile. If it is truncated, the first access to a page beyond its
/// new end ends the process with SIGBUS; if it is overwritten, pages that are read later have the
/// new bytes. Neither is caught: a process that could write to our files could replace our programs
/// as well.
class MappedFile final {
  public:
    /// Errors: InputError (no file, a folder, no permission), IoError.
    explicit MappedFile(const std::filesystem::path& path);
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile();

    /// The contents, aligned to a page. Valid as long as this object.
    std::span<const std::byte> bytes() const { return bytes_; }
    /// Lets the system drop the pages that were read; they are read again when needed. After one
    /// pass over a large file the process so holds no more memory than before.
    void forget_pages() const;

  private:
    std::span<const std::byte> bytes_;
};

}  // namespace dedloc::platform
