// The folder of a corpus that is being built. It has a hidden name beside its final one, which it
// gets only when it is complete. A build that was stopped leaves it, and the next one goes on.
#pragma once

#include <filesystem>
#include <memory>

#include "peer/platform/folder_lock.hpp"
#include "project_server/corpus/corpus.hpp"

namespace dedloc::corpus {

/// Owns the folder and its lock, so that only one process builds it.
class BuildFolder final {
  public:
    /// Opens or creates the folder for `target`. Errors: InputError when `target` exists and is not
    /// an empty folder, or its parent folder is missing; IoError, also when another process builds
    /// it.
    explicit BuildFolder(const std::filesystem::path& target);

    /// The journal of an earlier build with the same digest, else a new one. Removes all files that
    /// the journal does not account for.
    Journal resume(const Digest& build);
    /// Gives the folder its final name, durably. Errors: IoError.
    void finish();
    /// Removes the folder.
    void discard();
    /// The folder to fill.
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path target_;
    std::filesystem::path path_;
    std::unique_ptr<platform::FolderLock> lock_;
};

}  // namespace dedloc::corpus
