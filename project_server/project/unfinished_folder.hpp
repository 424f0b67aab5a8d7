// A folder, or a file, that gets its name only when it is complete.
#pragma once

#include <filesystem>

namespace dedloc::project {

/// Fills path(), then finish() renames it; without finish() the destructor removes it. After a kill
/// -9 the unfinished folder stays, hidden, until the next one for the same target is made.
class UnfinishedFolder final {
  public:
    /// Creates an empty folder beside `target`. Errors: InputError when `target` exists and is not
    /// an empty folder, or its parent folder is missing; IoError.
    explicit UnfinishedFolder(std::filesystem::path target);
    UnfinishedFolder(const UnfinishedFolder&) = delete;
    UnfinishedFolder& operator=(const UnfinishedFolder&) = delete;
    /// Removes the folder unless it is finished.
    ~UnfinishedFolder();

    /// The folder to fill.
    const std::filesystem::path& path() const { return path_; }
    /// Renames the folder to `target`, durably; the files in it must already be on the disk.
    /// Errors: IoError.
    void finish();
    /// Renames this file in the folder to `target`, durably, and removes the folder: for a target
    /// that is a file. Its contents must already be on the disk. Errors: IoError.
    void finish_with(const std::filesystem::path& name);

  private:
    const std::filesystem::path target_;
    std::filesystem::path path_;
    bool is_finished_ = false;
};

}  // namespace dedloc::project
