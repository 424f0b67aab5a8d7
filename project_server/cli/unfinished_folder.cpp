#include "project_server/cli/unfinished_folder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::cli {
namespace {

namespace fs = std::filesystem;

fs::path absolute_without_slash(const fs::path& target) {
    auto whole = fs::absolute(target).lexically_normal();
    return whole.has_filename() ? whole : whole.parent_path();
}

}  // namespace

UnfinishedFolder::UnfinishedFolder(fs::path target)
    : target_(absolute_without_slash(target)),
      path_(target_.parent_path() /
            fmt::format(".{}.unfinished-{}", target_.filename().string(), getpid())) {
    std::error_code failed;
    if (fs::exists(target_) && (!fs::is_directory(target_) || !fs::is_empty(target_, failed))) {
        throw InputError(fmt::format("{} exists already", target_.string()));
    }
    if (!fs::is_directory(target_.parent_path())) {
        throw InputError(
            fmt::format("there is no folder {} to hold it", target_.parent_path().string()));
    }
    if (!fs::create_directory(path_, failed)) {
        throw IoError(fmt::format("cannot make {}: {}", path_.string(), failed.message()));
    }
}

UnfinishedFolder::~UnfinishedFolder() {
    std::error_code ignored;
    if (!is_finished_) fs::remove_all(path_, ignored);
}

void UnfinishedFolder::finish() {
    platform::sync_folder_of(path_ / "any");
    std::error_code failed;
    fs::rename(path_, target_, failed);  // replaces an empty folder
    if (failed) {
        throw IoError(fmt::format("cannot make {}: {}", target_.string(), failed.message()));
    }
    is_finished_ = true;
    platform::sync_folder_of(target_);
}

}  // namespace dedloc::cli
