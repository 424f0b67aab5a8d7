#include "project_server/cli/staging.hpp"

// First of BOINC's headers: it says what the others may use.
#include <config.h>

#include <fmt/format.h>
#include <sched_util.h>

#include <array>

#include "peer/base/error.hpp"

namespace dedloc::cli {

namespace fs = std::filesystem;

fs::path stage_file(const server::ProjectConfig& config, const fs::path& source,
                    const std::string& name) {
    std::array<char, 4096> place{};
    if (dir_hier_path(name.c_str(), config.download_directory.c_str(), config.directory_fanout,
                      place.data(), true) != 0) {
        throw IoError(
            fmt::format("cannot make a folder in {}", config.download_directory.string()));
    }
    const fs::path target{place.data()};
    if (fs::exists(target)) return target;
    const fs::path unfinished = target.string() + ".unfinished";
    std::error_code failed;
    fs::copy_file(source, unfinished, fs::copy_options::overwrite_existing, failed);
    if (!failed) fs::rename(unfinished, target, failed);
    if (failed) {
        std::error_code ignored;
        fs::remove(unfinished, ignored);
        throw IoError(fmt::format("cannot copy {} to {}: {}", source.string(), target.string(),
                                  failed.message()));
    }
    return target;
}

}  // namespace dedloc::cli
