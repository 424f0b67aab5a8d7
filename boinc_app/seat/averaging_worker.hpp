// The work of a seat of dedloc_aggregate: none. Its peer averages parts of the other members'
// gradients in each round, in memory, and holds no model.
#pragma once

#include <string>

#include "boinc_app/seat/worker.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::seat {

/// Computes nothing and holds no state. Not copyable.
class AveragingWorker final : public Worker {
  public:
    /// `run` must outlive it.
    explicit AveragingWorker(const formats::RunFile& run) : run_(run) {}
    AveragingWorker(const AveragingWorker&) = delete;
    AveragingWorker& operator=(const AveragingWorker&) = delete;

    Role role() const override { return Role::kAggregator; }
    Trainer& trainer() override { return trainer_; }
    void limit(double) override {}  // averaging a round in time uses little of a core
    std::string device() const override;
    std::string memory_line(std::uint32_t kept_averages) const override;
    void copy_state(TakeState take) override;

  private:
    /// The peer of an aggregator asks for no gradient and applies no update (PeerConfig::receives).
    class NoTrainer final : public Trainer {
      public:
        void perform(TrainerAction action) override;
    };

    const formats::RunFile& run_;  ///< for the log
    NoTrainer trainer_;            ///< what the peer commands
};

/// Makes an AveragingWorker. `run` must outlive the worker.
MakeWorker averaging_worker(const formats::RunFile& run);

}  // namespace dedloc::seat
