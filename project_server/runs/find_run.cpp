#include "project_server/runs/find_run.hpp"

#include <fmt/format.h>

#include "peer/base/error.hpp"
#include "project_server/project/project.hpp"

namespace dedloc::runs {

backbone::RunFiles find_run(const std::filesystem::path& project, const std::string& run) {
    const auto folder = server::state_folder(project::existing_project(project)) / "runs" / run;
    const bool is_name = !run.empty() && run.find('/') == std::string::npos;
    if (!is_name || !std::filesystem::exists(folder / "run.json")) {
        throw InputError(fmt::format("the project has no run {}", run));
    }
    return backbone::read_run_files(folder);
}

}  // namespace dedloc::runs
