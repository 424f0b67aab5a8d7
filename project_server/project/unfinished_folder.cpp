#include "project_server/project/unfinished_folder.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "peer/base/error.hpp"
#include "peer/base/text.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::project {
namespace {

namespace fs = std::filesystem;

fs::path absolute_without_slash(const fs::path& target) {
    auto whole = fs::absolute(target).lexically_normal();
    return whole.has_filename() ? whole : whole.parent_path();
}

/// Removes what processes have left that ended without their destructors.
void remove_abandoned(const fs::path& parent, const std::string& prefix) {
    std::error_code failed;
    for (const auto& item : fs::directory_iterator{parent, failed}) {
        const std::string name = item.path().filename().string();
        if (!name.starts_with(prefix)) continue;
        const pid_t process = parse_number<pid_t>(name.substr(prefix.size())).value_or(0);
        if (process <= 0) continue;
        if (::kill(process, 0) == 0 || errno != ESRCH) continue;
        fs::remove_all(item.path(), failed);
    }
}

}  // namespace

UnfinishedFolder::UnfinishedFolder(fs::path target) : target_(absolute_without_slash(target)) {
    const std::string prefix = fmt::format(".{}.unfinished-", target_.filename().string());
    path_ = target_.parent_path() / fmt::format("{}{}", prefix, getpid());
    std::error_code failed;
    if (fs::exists(target_) && (!fs::is_directory(target_) || !fs::is_empty(target_, failed))) {
        throw InputError(fmt::format("{} exists already", target_.string()));
    }
    if (!fs::is_directory(target_.parent_path())) {
        throw InputError(
            fmt::format("there is no folder {} to hold it", target_.parent_path().string()));
    }
    remove_abandoned(target_.parent_path(), prefix);
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

void UnfinishedFolder::finish_with(const fs::path& name) {
    platform::move_file(path_ / name, target_);  // the destructor removes the folder
}

}  // namespace dedloc::project
