// A folder for temporary files.
#pragma once

#include <filesystem>

namespace dedloc::platform {

/// A new folder that only this user can enter, removed with all it holds at the end.
class ScratchFolder {
  public:
    /// Errors: IoError.
    explicit ScratchFolder(
        const std::filesystem::path& parent = std::filesystem::temp_directory_path());
    ~ScratchFolder();
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    /// The folder.
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace dedloc::platform
