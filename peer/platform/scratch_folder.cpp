// mkdtemp() makes the folder with mode 0700 and a name that no other process has.
#include "peer/platform/scratch_folder.hpp"

#include <stdlib.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "peer/platform/posix_calls.hpp"

namespace dedloc::platform {

ScratchFolder::ScratchFolder(const std::filesystem::path& parent) {
    std::string pattern = (parent / ".dedloc.unfinished-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) fail("make a temporary folder in", parent, errno);
    path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace dedloc::platform
