// The training thread: computes micro-batches on the current state until it is told to hand over
// their sum, and applies the updates that the swarm agrees on.
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

struct SwarmTrainerOptions {
    PeerKey peer;          ///< names the samples that this peer draws (batch.hpp)
    unsigned threads = 1;  ///< compute threads of torch
    /// Called once from the training thread when it cannot go on (out of memory, a bad run file).
    std::function<void(const std::string& sentence)> failed;
};

/// The Trainer of the training app. Starts without a state: it waits for load().
///
/// The contribution to step k is the sum over micro-batches 0, 1, 2 … n − 1 of their gradients,
/// added in that order from zero; each is the one that micro_batch_random(seed, peer, k, index)
/// names. A sum that is forgotten (pause, a round that was called off) starts again from 0, so the
/// ledger's count of samples always says which micro-batches they were.
///
/// Memory   12 N bytes state, 8 N model, 8 N sums, activations of one micro-batch.
/// Threads  its own one; calls come from one other thread, events go out on its own.
class SwarmTrainer final : public Trainer {
  public:
    /// `run`, `shards` and `workers` must outlive it; the last add up gradients and update the
    /// state. Errors: InputError, as Sampler and Albert.
    SwarmTrainer(const formats::RunFile& run, std::span<const formats::Shard> shards,
                 const kernels::Workers& workers, SwarmTrainerOptions options, EventSink sink);
    /// Waits for the micro-batch at hand.
    ~SwarmTrainer() override;
    SwarmTrainer(const SwarmTrainer&) = delete;
    SwarmTrainer& operator=(const SwarmTrainer&) = delete;

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
