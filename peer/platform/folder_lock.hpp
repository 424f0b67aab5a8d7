// A folder that one process at a time works in: a voter that ran twice would vote twice.
#pragma once

#include <filesystem>

namespace dedloc::platform {

/// Not copyable. The lock goes with the object, also when the process is killed.
class FolderLock {
  public:
    /// Errors: IoError when another process holds the lock, or the folder cannot be opened.
    explicit FolderLock(const std::filesystem::path& folder);
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;
    ~FolderLock();

  private:
    int descriptor_ = -1;
};

}  // namespace dedloc::platform
