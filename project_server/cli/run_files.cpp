#include "project_server/cli/run_files.hpp"

#include <fmt/format.h>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "project_server/cli/project.hpp"

namespace dedloc::cli {

RunFiles read_run_files(const std::filesystem::path& project, const std::string& run) {
    const auto folder = existing_project(project) / "runs" / run;
    const bool is_name = !run.empty() && run.find('/') == std::string::npos;
    if (!is_name || !std::filesystem::exists(folder / "run.json")) {
        throw InputError(fmt::format("the project has no run {}", run));
    }
    return read_run_files(folder);
}

RunFiles read_run_files(const std::filesystem::path& folder) {
    const auto whole = std::filesystem::absolute(folder);
    if (!std::filesystem::exists(whole / "run.json")) {
        throw InputError(fmt::format("there is no run.json in {}", whole.string()));
    }
    RunFiles files{.folder = whole,
                   .run = formats::parse_run_file(platform::read_text(whole / "run.json")),
                   .id = {}};
    files.id = formats::run_id(files.run);
    return files;
}

std::vector<ByteRange> parameter_ranges(const formats::RunFile& run) {
    std::vector<ByteRange> ranges;
    std::uint64_t begin = 0;
    for (const formats::TensorSpec& tensor : run.tensors) {
        const std::uint64_t end = begin + tensor.count() * sizeof(float);
        ranges.push_back({.begin = begin, .end = end});
        begin = end;
    }
    return ranges;
}

std::uint64_t parameter_count(const formats::RunFile& run) {
    std::uint64_t count = 0;
    for (const formats::TensorSpec& tensor : run.tensors) count += tensor.count();
    return count;
}

}  // namespace dedloc::cli
