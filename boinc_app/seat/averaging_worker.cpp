#include "boinc_app/seat/averaging_worker.hpp"

#include <fmt/format.h>

#include <memory>

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

void AveragingWorker::NoTrainer::work(StepIndex step) {
    DEDLOC_CHECK(false, "an aggregator computes no gradients", step.value());
}
void AveragingWorker::NoTrainer::freeze(StepIndex step) {
    DEDLOC_CHECK(false, "an aggregator has no contribution", step.value());
}
void AveragingWorker::NoTrainer::apply(StepIndex step, SharedFloats, const UpdateScalars&) {
    DEDLOC_CHECK(false, "an aggregator has no state to update", step.value());
}
void AveragingWorker::NoTrainer::snapshot() {
    DEDLOC_CHECK(false, "an aggregator has no state to copy");
}
void AveragingWorker::NoTrainer::load(StepIndex step, const Digest&, SharedBytes) {
    DEDLOC_CHECK(false, "an aggregator loads no state", step.value());
}

MakeWorker averaging_worker(const formats::RunFile& run) {
    return [&run](const WorkerParts&) { return std::make_unique<AveragingWorker>(run); };
}

}  // namespace dedloc::seat
