// The backbone's Trainer: it holds the run's state, applies every update and writes checkpoints,
// but computes no gradients. One worker thread owns the state; calls become commands in a bounded
// queue.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>

#include "kernels/workers.hpp"
#include "peer/platform/copy_on_write.hpp"
#include "peer/state/model_state.hpp"
#include "peer/trainer.hpp"
#include "project_server/backbone/checkpoint.hpp"

namespace dedloc::backbone {

/// Settings of a StateKeeper. Its functions are called on the worker thread.
struct KeeperOptions {
    std::uint64_t checkpoint_every = 1;   ///< updates between two checkpoints, ≥ 1
    StepIndex last_step;                  ///< the run's last state always gets a checkpoint
    bool holds_state = true;              ///< false: it has none before the first load()
    EventSink events;                     ///< takes the answers of Trainer
    std::function<void()> on_checkpoint;  ///< called after each checkpoint
    /// Called with one sentence when an error of the environment (disk full, …) has stopped the
    /// worker.
    std::function<void(const std::string&)> on_failure;
};

/// Holds the run's state. The functions of Trainer block only while the queue is full.
class StateKeeper final : public Trainer {
  public:
    /// Starts the worker, which first reports event::StateReached for the given state, unless
    /// options.holds_state is false.
    /// `store` and `workers` must outlive the keeper.
    StateKeeper(std::unique_ptr<state::ModelState> state, const CheckpointStore& store,
                const kernels::Workers& workers, KeeperOptions options);
    /// Calls stop().
    ~StateKeeper() override;

    /// Ignored: backbones compute no gradients.
    void work(StepIndex step) override;
    /// Answers with an empty contribution.
    void freeze(StepIndex step) override;
    void apply(StepIndex step, SharedFloats average, const UpdateScalars& scalars) override;
    void snapshot() override;
    void load(StepIndex step, const Digest& digest, SharedBytes bytes) override;
    void pause() override;

    /// Writes a checkpoint of the present state, unless there is one. Returns the state's step when
    /// it is on the disk; nothing if there is no state yet, after `limit`, or after stop(). Thread:
    /// any but the worker's and the network thread.
    std::optional<StepIndex> checkpoint(std::chrono::milliseconds limit);
    /// Executes the queued commands, writes a checkpoint of the last state unless there is one, and
    /// ends the worker. Thread: any but the worker's. Idempotent.
    void stop();

  private:
    using Freeze = action::Freeze;
    using Apply = action::Apply;
    using Snapshot = action::TakeSnapshot;
    using Load = action::Load;
    struct Checkpoint {
        std::shared_ptr<std::promise<std::optional<StepIndex>>> written;
    };
    using Command = std::variant<Freeze, Apply, Snapshot, Load, Checkpoint>;

    void push(Command command);
    std::optional<Command> pop();
    void run();
    void run_commands();
    void execute(const Freeze& command);
    void execute(const Apply& command);
    void execute(const Snapshot& command);
    void execute(const Load& command);
    void execute(const Checkpoint& command);
    void reached(const Digest& digest);
    void write_checkpoint(const Digest& digest);

    const KeeperOptions options_;
    const CheckpointStore& store_;
    const kernels::Workers& workers_;
    const std::unique_ptr<state::ModelState> state_;  ///< worker only
    platform::CopyOnWrite shares_;                    ///< snapshots of state_; worker only
    bool holds_state_;                                ///< worker only
    std::optional<StepIndex> checkpointed_;           ///< worker only

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Command> commands_;  ///< guarded by mutex_
    bool is_stopping_ = false;      ///< guarded by mutex_
    std::thread worker_;
};

}  // namespace dedloc::backbone
