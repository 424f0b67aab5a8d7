#include "project_server/runs/module_run.hpp"

#include <fmt/format.h>

#include <variant>

#include "peer/base/error.hpp"
#include "peer/base/text.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/process.hpp"
#include "peer/platform/scratch_folder.hpp"

namespace dedloc::runs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTrainer = "dedloc_train";

/// The last line, without the program's name.
std::string sentence_of(std::string output) {
    while (!output.empty() && output.back() == '\n') output.pop_back();
    output.erase(0, output.rfind('\n') + 1);
    const std::string prefix = std::string{kTrainer} + ": ";
    return output.starts_with(prefix) ? output.substr(prefix.size()) : output;
}

}  // namespace

DescribedModule describe_module(const ModuleFiles& files) {
    const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / kTrainer;
    if (!fs::exists(program)) {
        throw InputError(fmt::format("there is no {}, which reads modules", program.string()));
    }
    const platform::ScratchFolder scratch;
    const fs::path out = scratch.path() / "run.json";
    const auto finished =
        platform::run_to_end({program.string(), "describe", "--module", files.module.string(),
                              "--shard", files.shard.string(), "--sequence-length",
                              std::to_string(files.sequence_length), "--out", out.string()});
    if (finished.status != 0) throw InputError(sentence_of(finished.output));
    const auto run = formats::parse_run_file(platform::read_text(out, formats::kMaxRunFileBytes));
    return {.model = std::get<formats::ModuleSpec>(run.model),
            .sequence_length = run.sequence_length,
            .tensors = run.tensors};
}

}  // namespace dedloc::runs
