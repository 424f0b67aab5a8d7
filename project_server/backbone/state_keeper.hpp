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
    bool holds_state = true;              ///< false: it has none before the first action::Load
    EventSink events;                     ///< takes the answers of Trainer
    std::function<void()> on_checkpoint;  ///< called after each checkpoint
    /// Called with one sentence when an error of the environment (disk full, …) has stopped the
    /// worker.
    std::function<void(const std::string&)> on_failure;
};

/// Holds the run's state.
class StateKeeper final : public Trainer {
  public:
    /// Starts the worker, which first reports event::StateReached for the given state, unless
    /// options.holds_state is false.
    /// `store` and `workers` must outlive the keeper.
    StateKeeper(std::unique_ptr<state::ModelState> state, const CheckpointStore& store,
                const kernels::Workers& workers, KeeperOptions options);
    /// Calls stop().
    ~StateKeeper() override;

    /// A backbone computes no gradients: a freeze is answered with an empty contribution, and
    /// actions that only begin or end computing are ignored. Blocks only while the queue is full.
    void perform(TrainerAction action) override;

    /// Writes a checkpoint of the present state, unless there is one. Returns the state's step when
    /// it is on the disk; nothing if there is no state yet, after `limit`, or after stop(). Thread:
    /// any but the worker's and the network thread.
    std::optional<StepIndex> checkpoint(std::chrono::milliseconds limit);
    /// Executes the queued commands, writes a checkpoint of the last state unless there is one, and
    /// ends the worker. Thread: any but the worker's. Idempotent.
    void stop();

  private:
    struct Checkpoint {
        std::shared_ptr<std::promise<std::optional<StepIndex>>> written;
    };
    using Command =
        std::variant<action::Freeze, action::Apply, action::TakeSnapshot, action::Load, Checkpoint>;

    void push(Command command);
    std::optional<Command> pop();
    void run();
    void run_commands();
    void take(const action::Work&) {}
    void take(const action::Overlap&) {}
    void take(const action::Mix&) {}
    void take(const action::Pause&) {}
    void take(Command command) { push(std::move(command)); }
    void execute(const action::Freeze& freeze);
    void execute(const action::Apply& apply);
    void execute(const action::TakeSnapshot&);
    void execute(const action::Load& load);
    void execute(const Checkpoint& wanted);
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
