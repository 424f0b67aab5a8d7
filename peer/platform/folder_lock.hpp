// Ensures that only one process at a time uses a folder: two processes of one voter could cast
// contradictory votes. Processes that only read it may share it.
#pragma once

#include <filesystem>

#include "peer/platform/descriptor.hpp"

namespace dedloc::platform {

/// Holds a lock on a folder for its lifetime. The system releases the lock if the process is
/// killed.
class FolderLock {
  public:
    /// Whether others may hold the lock as well.
    enum class Sharing {
        kExclusive,  ///< no other lock of this folder
        kShared,     ///< only shared ones
        kAwaited,    ///< as kShared, and the constructor waits for an exclusive one to end
    };
    /// Takes the lock, without waiting unless it says so. Errors: IoError if the locks of other
    /// processes forbid it or if the folder cannot be opened.
    explicit FolderLock(const std::filesystem::path& folder, Sharing sharing = Sharing::kExclusive);

  private:
    const Descriptor descriptor_;
};

}  // namespace dedloc::platform
