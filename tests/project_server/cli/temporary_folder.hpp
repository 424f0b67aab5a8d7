// A folder of a test's own, removed at its end.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "peer/base/check.hpp"

namespace dedloc::cli {

class TemporaryFolder final {
  public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "dedloc-test-XXXXXX").string();
        DEDLOC_CHECK(mkdtemp(name.data()) != nullptr, "no temporary folder", name);
        path_ = name;
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace dedloc::cli
