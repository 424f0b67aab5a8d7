#include "project_server/backbone/run_files.hpp"

#include <fmt/format.h>

#include "peer/base/error.hpp"
#include "project_server/run_sources.hpp"

namespace dedloc::backbone {

RunFiles read_run_files(const std::filesystem::path& folder) {
    const auto whole = std::filesystem::absolute(folder);
    if (!std::filesystem::exists(whole / "run.json")) {
        throw InputError(fmt::format("there is no run.json in {}", whole.string()));
    }
    RunFiles files{
        .folder = whole, .run = server::read_run(whole, server::Reader::kElsewhere), .id = {}};
    files.id = formats::run_id(files.run);
    return files;
}

std::vector<ByteRange> parameter_ranges(const formats::RunFile& run) {
    const std::vector<std::uint64_t> offsets = formats::tensor_offsets(run);
    std::vector<ByteRange> ranges;
    for (std::size_t i = 0; i < run.tensors.size(); ++i) {
        const std::uint64_t begin = offsets[i] * sizeof(float);
        ranges.push_back({.begin = begin, .end = begin + run.tensors[i].count() * sizeof(float)});
    }
    return ranges;
}

}  // namespace dedloc::backbone
