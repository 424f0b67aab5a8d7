// A file without a name, for what a child process reads or prints.
#pragma once

#include <filesystem>
#include <string_view>

#include "peer/platform/descriptor.hpp"

namespace dedloc::platform {

/// The file; it is gone with this object. It needs no disk space, and has no name to be found by.
class MemoryFile final {
  public:
    /// A file with this text, which is read from its beginning. Errors: IoError.
    explicit MemoryFile(std::string_view text = {});

    /// For SpawnOptions::standard_input.
    int descriptor() const { return descriptor_.id(); }
    /// A path of it, in this process only.
    std::filesystem::path path() const;

  private:
    const Descriptor descriptor_;
};

}  // namespace dedloc::platform
