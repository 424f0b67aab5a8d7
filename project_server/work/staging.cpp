#include "project_server/work/staging.hpp"

// Must be the first of BOINC's headers: it configures the others.
#include <config.h>

#include <fmt/format.h>
#include <sched_util.h>

#include <array>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "project_server/settings.hpp"

namespace dedloc::work {

void stage_file(const server::ProjectConfig& config, const std::filesystem::path& source,
                const std::string& name) {
    std::array<char, 4096> place{};
    if (dir_hier_path(name.c_str(), config.download_directory.c_str(), config.directory_fanout,
                      place.data(), true) != 0) {
        throw IoError(
            fmt::format("Cannot make a folder in {}.", config.download_directory.string()));
    }
    const std::filesystem::path target{place.data()};
    if (std::filesystem::exists(target)) return;
    // Shards may be larger than memory, so the system copies them.
    const std::filesystem::path copy = target.string() + ".tmp";
    std::error_code failed;
    std::filesystem::copy_file(source, copy, std::filesystem::copy_options::overwrite_existing,
                               failed);
    if (failed) {
        std::error_code ignored;
        std::filesystem::remove(copy, ignored);
        throw IoError(fmt::format("Cannot copy {} to {}: {}.", source.string(), target.string(),
                                  failed.message()));
    }
    platform::sync_file(copy);
    platform::move_file(copy, target);
}

}  // namespace dedloc::work
