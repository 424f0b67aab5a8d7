#include "project_server/check/run_folder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "peer/base/error.hpp"
#include "project_server/run_sources.hpp"

namespace dedloc::check {

std::vector<RunFolder> run_folders(const std::filesystem::path& state) {
    std::vector<RunFolder> runs;
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator{state / "runs", failed}) {
        const auto name = entry.path().filename().string();
        if (!entry.is_directory() || name.starts_with('.')) continue;
        RunFolder run{.folder = entry.path(), .run = {}, .id = {}, .failure = {}};
        try {
            run.run = server::read_run(run.folder, server::Reader::kElsewhere);
            run.id = formats::run_id(*run.run);
        } catch (const Error& error) {
            run.failure = fmt::format("{}: {}", (run.folder / "run.json").string(), error.what());
        }
        runs.push_back(std::move(run));
    }
    if (failed) {
        throw IoError(
            fmt::format("cannot read {}: {}", (state / "runs").string(), failed.message()));
    }
    std::ranges::sort(runs, {}, &RunFolder::folder);
    return runs;
}

}  // namespace dedloc::check
