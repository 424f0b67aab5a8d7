// The one place of the formats that asks which kind of network a run has; all else calls these.
#include "peer/formats/task.hpp"

#include <cmath>
#include <variant>

#include "peer/base/check.hpp"
#include "peer/formats/albert_layout.hpp"
#include "peer/formats/swav_layout.hpp"

namespace dedloc::formats {
namespace {

constexpr std::uint64_t kMaxWindow = std::uint64_t{1} << 20;  // tokens of a module's sample

const SwavSpec* swav_of(const RunFile& run) {
    return std::get_if<SwavSpec>(&run.model);
}

const ModuleSpec* module_of(const RunFile& run) {
    return std::get_if<ModuleSpec>(&run.model);
}

}  // namespace

std::string_view architecture_of(const RunFile& run) {
    if (module_of(run) != nullptr) return kModule;
    return swav_of(run) != nullptr ? kSwav : kAlbert;
}

ShardKind shard_kind_of(const RunFile& run) {
    if (swav_of(run) != nullptr) return ShardKind::kPictures;
    const ModuleSpec* const module = module_of(run);
    if (module == nullptr || module->vocabulary != 0) return ShardKind::kText;
    return module->picture_side != 0 ? ShardKind::kPictures : ShardKind::kTensors;
}

std::uint64_t vocabulary_of(const RunFile& run) {
    DEDLOC_CHECK(holds_text(run), "the run's shards hold no text");
    if (const ModuleSpec* module = module_of(run)) return module->vocabulary;
    return albert_of(run).vocabulary;
}

std::uint64_t longest_sequence(const RunFile& run) {
    DEDLOC_CHECK(holds_text(run), "the run's shards hold no text");
    // A module says itself if a window is too long for it.
    if (module_of(run) != nullptr) return kMaxWindow;
    return albert_of(run).positions;
}

std::vector<TensorSpec> tensors_of(const RunFile& run) {
    if (const SwavSpec* swav = swav_of(run)) return swav_tensors(*swav);
    if (module_of(run) != nullptr) return run.tensors;
    return albert_tensors(albert_of(run));
}

double flops_per_sample(const RunFile& run) {
    if (const SwavSpec* swav = swav_of(run)) return swav_flops_per_sample(*swav);
    if (const ModuleSpec* module = module_of(run)) return module->flops;
    return albert_flops_per_sample(albert_of(run), run.sequence_length);
}

bool runs_on_gpus(const RunFile& run) {
    return module_of(run) == nullptr;
}

std::optional<GuessingLoss> guessing_loss(const RunFile& run) {
    if (module_of(run) != nullptr) return std::nullopt;
    if (const SwavSpec* swav = swav_of(run)) {
        return GuessingLoss{.formula = "ln K",
                            .value = std::log(static_cast<double>(swav->prototypes))};
    }
    const double vocabulary = static_cast<double>(albert_of(run).vocabulary);
    return GuessingLoss{.formula = "ln V + ln 2", .value = std::log(vocabulary) + std::log(2.0)};
}

std::uint64_t samples_together(const RunFile& run) {
    const SwavSpec* swav = swav_of(run);
    return swav != nullptr ? swav->micro_batch : 1;
}

}  // namespace dedloc::formats
