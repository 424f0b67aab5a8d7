#include "project_server/work/staging.hpp"

// Must be the first of BOINC's headers: it configures the others.
#include <config.h>

#include <fmt/format.h>
#include <sched_util.h>

#include <array>

#include "peer/base/error.hpp"
#include "peer/formats/added_source.hpp"
#include "peer/formats/job_shards.hpp"
#include "peer/platform/files.hpp"
#include "project_server/run_sources.hpp"
#include "project_server/settings.hpp"

namespace dedloc::work {

namespace {

/// Makes the folder if it `creates`.
std::filesystem::path place_of(const server::ProjectConfig& config, const std::string& name,
                               bool creates) {
    std::array<char, 4096> place{};
    if (dir_hier_path(name.c_str(), config.download_directory.c_str(), config.directory_fanout,
                      place.data(), creates) != 0) {
        throw IoError(
            fmt::format("Cannot make a folder in {}.", config.download_directory.string()));
    }
    return place.data();
}

}  // namespace

std::filesystem::path staged_place(const server::ProjectConfig& config, const std::string& name) {
    return place_of(config, name, false);
}

std::string staged_name_of(const formats::RunFile& run) {
    return fmt::format("run_{}_{}.json", run.name, formats::run_id(run).hex().substr(0, 16));
}

std::string staged_name_of(const formats::ModuleSpec& module) {
    return fmt::format("module_{}", module.digest.hex().substr(0, 32));
}

std::string staged_name_of(const Digest& source) {
    return fmt::format("source_{}.json", source.hex().substr(0, 32));
}

std::vector<std::string> staged_names(const server::ProjectConfig& config, const std::string& name,
                                      const formats::RunFile& run) {
    const auto folder = server::state_folder(config.directory) / "runs" / name;
    std::vector<std::string> names{staged_name_of(run)};
    if (const auto* const module = std::get_if<formats::ModuleSpec>(&run.model)) {
        names.push_back(staged_name_of(*module));
    }
    formats::RunFile all = run;
    for (const Digest& source : server::added_to(folder, run)) {
        names.push_back(staged_name_of(source));
        formats::add_source(all, server::read_source(folder, source));
    }
    for (const auto& shard : formats::training_shards(all)) names.push_back(shard.name);
    return names;
}

void stage_file(const server::ProjectConfig& config, const std::filesystem::path& source,
                const std::string& name) {
    const auto target = place_of(config, name, true);
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
