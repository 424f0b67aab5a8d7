// A folder that appears under its name whole or not at all.
#pragma once

#include <filesystem>

namespace dedloc::cli {

class UnfinishedFolder final {
  public:
    /// Makes an empty folder beside `target`. Errors: InputError when `target` is there and not an
    /// empty folder, or the folder that should hold it is missing; IoError.
    explicit UnfinishedFolder(std::filesystem::path target);
    UnfinishedFolder(const UnfinishedFolder&) = delete;
    UnfinishedFolder& operator=(const UnfinishedFolder&) = delete;
    /// Removes everything unless finished.
    ~UnfinishedFolder();

    const std::filesystem::path& path() const { return path_; }
    /// Gives the folder its name. Errors: IoError.
    void finish();

  private:
    const std::filesystem::path target_;
    const std::filesystem::path path_;
    bool is_finished_ = false;
};

}  // namespace dedloc::cli
