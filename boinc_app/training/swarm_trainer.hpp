// The training thread: computes micro-batches on the current state until a freeze takes their sum,
// and applies the updates that the swarm has committed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <variant>

#include "kernels/workers.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/formats/shard.hpp"
#include "peer/trainer.hpp"

namespace dedloc::training {

/// Settings of a SwarmTrainer.
struct SwarmTrainerOptions {
    PeerKey peer;          ///< seeds the samples that this peer draws (batch.hpp)
    unsigned threads = 1;  ///< compute threads of torch
    /// Called once from the training thread when it fails (out of memory, a bad run file).
    std::function<void(const std::string& sentence)> failed;
};

/// The Trainer of the training app. It starts without a state and waits for load().
///
/// The contribution to step k is the sum of the gradients of micro-batches 0, 1, 2 … n − 1, added
/// in that order from zero. micro_batch_random(seed, peer, k, index) determines each micro-batch.
/// After a sum is dropped (pause, cancelled round) the next one starts again at micro-batch 0, so
/// the number of samples in the ledger always tells which micro-batches were summed.
///
/// Memory   12 N bytes state, 8 N model, 8 N sums, activations of one micro-batch.
/// Threads  its own one, which also emits the events; calls come from one other thread.
class SwarmTrainer final : public Trainer {
  public:
    /// `run`, `shards` and `workers` must outlive it; `workers` add up gradients and update the
    /// state. Errors: InputError, as Sampler and Albert.
    SwarmTrainer(const formats::RunFile& run, std::span<const formats::Shard> shards,
                 const kernels::Workers& workers, SwarmTrainerOptions options, EventSink sink);
    /// Waits until the current micro-batch is computed.
    ~SwarmTrainer() override;
    SwarmTrainer(const SwarmTrainer&) = delete;
    SwarmTrainer& operator=(const SwarmTrainer&) = delete;

    // The functions of Trainer (peer/trainer.hpp): each queues a command for the training thread.
    void work(StepIndex step) override;
    void freeze(StepIndex step) override;
    void apply(StepIndex step, SharedFloats average, const UpdateScalars& scalars) override;
    void snapshot() override;
    void load(StepIndex step, const Digest& digest, SharedBytes bytes) override;
    void pause() override;

  private:
    using Work = action::Work;
    using Freeze = action::Freeze;
    using Apply = action::Apply;
    using Snapshot = action::TakeSnapshot;
    using Load = action::Load;
    using Pause = action::Pause;
    struct Stop {};
    using Command = std::variant<Work, Freeze, Apply, Snapshot, Load, Pause, Stop>;
    class Worker;

    void give(Command command);
    void run(Worker& worker);

    std::mutex mutex_;
    std::condition_variable given_;
    std::deque<Command> commands_;  // bounded: kMaxCommands
    std::unique_ptr<Worker> worker_;
    std::thread thread_;
};

}  // namespace dedloc::training
