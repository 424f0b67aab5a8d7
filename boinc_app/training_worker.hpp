// The work of a seat of dedloc_train: a replica of the model on a processor or a GPU, and the
// thread that computes gradients on it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "boinc_app/device/gpu.hpp"
#include "boinc_app/seat/worker.hpp"
#include "boinc_app/training/swarm_trainer.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/formats/shard.hpp"

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
    /// `run` and `shards` must outlive it. Errors: InputError (shards of another vocabulary),
    /// DeviceError.
    TrainingWorker(const formats::RunFile& run, std::span<const formats::Shard> shards,
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
    const device::Compute compute_;  ///< its replica is used by the training thread only
    const std::uint64_t micro_batch_;
    training::SwarmTrainer trainer_;
};

/// Makes a TrainingWorker. `run` and `shards` must outlive the worker.
seat::MakeWorker training_worker(const formats::RunFile& run,
                                 std::span<const formats::Shard> shards,
                                 const TrainingOptions& options);

}  // namespace dedloc
