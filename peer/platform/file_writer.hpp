// A new file that is written from its start to its end, for contents that are too large to hold in
// memory. Files that fit into memory are written by replace_file().
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <span>

#include "peer/platform/descriptor.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::platform {

/// Owns the open file. Without finish() the file has whatever has been written: the caller writes
/// into a folder or under a name that does not count until it is complete.
class FileWriter final {
  public:
    /// Creates the file, or empties an existing one. Errors: IoError.
    explicit FileWriter(std::filesystem::path path, mode_t mode = kPublicFile);

    /// Appends bytes. Errors: IoError (disk full, …).
    void write(std::span<const std::byte> bytes);
    /// Closes the file when its contents are on the disk; write() must not be called after it.
    /// Errors: IoError.
    void finish();

  private:
    const std::filesystem::path path_;
    Descriptor descriptor_;  ///< nothing after finish()
};

}  // namespace dedloc::platform
