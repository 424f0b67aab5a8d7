// The work of a seat of dedloc_train: a replica of the model on a processor or a GPU, and the
// thread that computes gradients on it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "boinc_app/device/gpu.hpp"
#include "boinc_app/seat/worker.hpp"
#include "boinc_app/training/swarm_trainer.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc {

/// The part of the command line that concerns training.
struct TrainingOptions {
    /// What computes, unless the BOINC client has given the job a GPU.
    device::Choice device{};
    /// Samples computed at once; 0: as suits this machine (training::suitable_micro_batch).
    std::uint64_t micro_batch = 0;
};

/// Trains. Not copyable.
class TrainingWorker final : public seat::Worker {
  public:
    /// `run` must outlive it. Errors: InputError, as the task's make_model(); DeviceError.
    TrainingWorker(const formats::RunFile& run, std::shared_ptr<const training::Task> task,
                   const TrainingOptions& options, const seat::WorkerParts& parts);
    TrainingWorker(const TrainingWorker&) = delete;
    TrainingWorker& operator=(const TrainingWorker&) = delete;

    Role role() const override { return Role::kTrainer; }
    Trainer& trainer() override { return trainer_; }
    void limit(double share) override { trainer_.limit(share); }
    std::string device() const override { return compute_.name; }
    std::string memory_line(std::uint32_t kept_averages) const override;
    void copy_state(seat::TakeState take) override;

  private:
    const formats::RunFile& run_;
    const std::shared_ptr<const training::Task> task_;
    const device::Compute compute_;  ///< its replica is used by the training thread only
    const std::uint64_t micro_batch_;
    training::SwarmTrainer trainer_;
};

/// Makes a TrainingWorker. `run` must outlive the worker.
seat::MakeWorker training_worker(const formats::RunFile& run,
                                 std::shared_ptr<const training::Task> task,
                                 const TrainingOptions& options);

}  // namespace dedloc
