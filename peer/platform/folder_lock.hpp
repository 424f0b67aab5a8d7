// Ensures that only one process at a time uses a folder: two processes of one voter could cast
// contradictory votes.
#pragma once

#include <filesystem>

namespace dedloc::platform {

/// Holds an exclusive lock on a folder for its lifetime. The system releases the lock if the
/// process is killed.
class FolderLock {
  public:
    /// Takes the lock without waiting. Errors: IoError if another process holds it or if the folder
    /// cannot be opened.
    explicit FolderLock(const std::filesystem::path& folder);
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;
    ~FolderLock();

  private:
    int descriptor_ = -1;
};

}  // namespace dedloc::platform
