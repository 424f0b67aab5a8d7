// The one place of the formats that asks which kind of network a run has; all else calls these.
#include "peer/formats/task.hpp"

#include <variant>

#include "peer/formats/albert_layout.hpp"
#include "peer/formats/swav_layout.hpp"

namespace dedloc::formats {
namespace {

const SwavSpec* swav_of(const RunFile& run) {
    return std::get_if<SwavSpec>(&run.model);
}

}  // namespace

std::string_view architecture_of(const RunFile& run) {
    return swav_of(run) != nullptr ? kSwav : kAlbert;
}

bool holds_text(const RunFile& run) {
    return swav_of(run) == nullptr;
}

std::vector<TensorSpec> tensors_of(const RunFile& run) {
    if (const SwavSpec* swav = swav_of(run)) return swav_tensors(*swav);
    return albert_tensors(albert_of(run));
}

double flops_per_sample(const RunFile& run) {
    if (const SwavSpec* swav = swav_of(run)) return swav_flops_per_sample(*swav);
    return albert_flops_per_sample(albert_of(run), run.sequence_length);
}

std::uint64_t samples_together(const RunFile& run) {
    const SwavSpec* swav = swav_of(run);
    return swav != nullptr ? swav->micro_batch : 1;
}

}  // namespace dedloc::formats
