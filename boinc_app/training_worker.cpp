#include "boinc_app/training_worker.hpp"

#include <memory>
#include <utility>

#include "boinc_app/training/footprint.hpp"
#include "peer/formats/task.hpp"

namespace dedloc {
namespace {

/// The client's choice of a GPU is the only one that other jobs on the machine respect.
device::Choice device_of(const formats::RunFile& run, const TrainingOptions& options,
                         const seat::WorkerParts& parts) {
    using Kind = device::Choice::Kind;
    if (!parts.gpu) return options.device;
    return {formats::runs_on_gpus(run) ? Kind::kGpu : Kind::kAutomatic, *parts.gpu};
}

}  // namespace

TrainingWorker::TrainingWorker(const formats::RunFile& run,
                               std::shared_ptr<const training::Task> task,
                               const TrainingOptions& options, const seat::WorkerParts& parts)
    : run_(run),
      task_(std::move(task)),
      compute_(device::make_compute(device_of(run, options, parts), run, *task_, parts.workers,
                                    {.threads = parts.cpus, .shared_folder = parts.shared_folder})),
      micro_batch_(training::micro_batch_for(run, compute_.device, options.micro_batch)),
      trainer_(run, *compute_.replica,
               {.peer = parts.peer,
                .threads = compute_.device.threads,
                .micro_batch = micro_batch_,
                .failed = parts.failed},
               parts.sink) {}

std::string TrainingWorker::memory_line(std::uint32_t kept_averages) const {
    return training::memory_line(run_, micro_batch_, kept_averages, compute_.device);
}

void TrainingWorker::copy_state(seat::TakeState take) {
    trainer_.copy([this, take = std::move(take)](std::optional<event::SnapshotTaken> copy) {
        if (!copy) return take(std::nullopt);
        take(seat::StateToSave{.head = {.step = copy->step,
                                        .digest = copy->digest,
                                        .elements = formats::element_count(run_),
                                        .vectors = formats::state_vectors(run_.optimizer.name)},
                               .bytes = std::move(copy->bytes)});
    });
}

seat::MakeWorker training_worker(const formats::RunFile& run,
                                 std::shared_ptr<const training::Task> task,
                                 const TrainingOptions& options) {
    return [&run, task = std::move(task), options](const seat::WorkerParts& parts) {
        return std::make_unique<TrainingWorker>(run, task, options, parts);
    };
}

}  // namespace dedloc
