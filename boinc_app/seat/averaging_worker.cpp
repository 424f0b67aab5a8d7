#include "boinc_app/seat/averaging_worker.hpp"

#include <fmt/format.h>

#include <memory>
#include <variant>

#include "peer/base/check.hpp"

namespace dedloc::seat {

std::string AveragingWorker::device() const {
    return "the processor, for averages only";
}

std::string AveragingWorker::memory_line(std::uint32_t) const {
    const auto vector = static_cast<double>(formats::element_count(run_) * sizeof(float));
    return fmt::format(
        "{} parameters: a vector has {:.1f} MB; an aggregator holds one of averages, and of each "
        "contribution to the round the part that it averages",
        formats::parameter_count(run_), vector / 1e6);
}

void AveragingWorker::copy_state(TakeState) {
    DEDLOC_CHECK(false, "an aggregator has no state to save");
}

void AveragingWorker::NoTrainer::perform(TrainerAction action) {
    // An aggregator never computes, so there is nothing to end or to limit.
    if (std::holds_alternative<action::Pause>(action)) return;
    if (std::holds_alternative<action::Overlap>(action)) return;
    if (std::holds_alternative<action::Mix>(action)) return;
    DEDLOC_CHECK(false, "an aggregator computes no gradients and has no state", action.index());
}

MakeWorker averaging_worker(const formats::RunFile& run) {
    return [&run](const WorkerParts&) { return std::make_unique<AveragingWorker>(run); };
}

}  // namespace dedloc::seat
