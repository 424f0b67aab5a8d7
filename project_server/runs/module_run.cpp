#include "project_server/runs/module_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <variant>

#include "peer/base/error.hpp"
#include "peer/base/text.hpp"
#include "peer/formats/task.hpp"
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

/// Runs dedloc_train to its end. Errors: InputError with its sentence.
void run_trainer(platform::Command arguments) {
    const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / kTrainer;
    if (!fs::exists(program)) {
        throw InputError(
            fmt::format("there is no {}, which reads and writes modules", program.string()));
    }
    arguments.insert(arguments.begin(), program.string());
    const auto finished = platform::run_to_end(arguments);
    if (finished.status == 0) return;
    const std::string sentence = sentence_of(finished.output);
    constexpr int kSignals = 128;  // above it: ended by a signal
    if (finished.status > kSignals || sentence.empty()) {
        throw InputError(fmt::format("{} failed with the module (status {}): {}", kTrainer,
                                     finished.status, sentence.empty() ? "no reason" : sentence));
    }
    throw InputError(sentence);
}

}  // namespace

DescribedModule describe_module(const ModuleFiles& files) {
    const platform::ScratchFolder scratch;
    const fs::path out = scratch.path() / "run.json";
    run_trainer({"describe", "--module", files.module.string(), "--shard", files.shard.string(),
                 "--sequence-length", std::to_string(files.sequence_length), "--picture-side",
                 std::to_string(files.picture_side), "--out", out.string()});
    const auto run = formats::parse_run_file(platform::read_text(out, formats::kMaxRunFileBytes));
    return {.model = std::get<formats::ModuleSpec>(run.model),
            .sequence_length = run.sequence_length,
            .tensors = run.tensors};
}

ModuleExport::ModuleExport(const backbone::RunFiles& files, const formats::CheckpointHead& head,
                           const fs::path& folder)
    : files_(files),
      folder_(folder),
      parameters_path_(folder / "parameters.state"),
      parameter_bytes_(sizeof(float) * head.elements),
      parameters_(parameters_path_) {
    formats::CheckpointHead first = head;
    first.vectors = 1;  // parameters only: nothing else is exported
    parameters_.write(formats::encode_checkpoint_head(files.id, first));
}

void ModuleExport::take(std::uint64_t offset, std::span<const std::byte> bytes) {
    if (offset >= parameter_bytes_) return;
    const std::uint64_t left = parameter_bytes_ - offset;
    parameters_.write(bytes.first(std::min(bytes.size(), static_cast<std::size_t>(left))));
}

void ModuleExport::finish() {
    parameters_.finish();
    run_trainer({"export", "--run", (files_.folder / "run.json").string(), "--module",
                 (files_.folder / formats::kModuleFile).string(), "--checkpoint",
                 parameters_path_.string(), "--out", (folder_ / kExportedModule).string()});
    fs::remove(parameters_path_);
}

}  // namespace dedloc::runs
