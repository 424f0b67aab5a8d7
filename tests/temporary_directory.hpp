#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "peer/base/check.hpp"

namespace dedloc {

/// A new empty directory, removed with all it holds at the end.
class TemporaryDirectory {
  public:
    TemporaryDirectory() {
        std::string pattern = (std::filesystem::temp_directory_path() / "dedloc-XXXXXX").string();
        DEDLOC_CHECK(mkdtemp(pattern.data()) != nullptr, "no temporary folder", pattern);
        path_ = pattern;
    }
    ~TemporaryDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace dedloc
