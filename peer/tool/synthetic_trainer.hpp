// A Trainer with synthetic gradients. State and updates are the project's; samples are counted by
// the clock. One worker thread owns the state.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "kernels/workers.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/platform/copy_on_write.hpp"
#include "peer/state/model_state.hpp"
#include "peer/tool/backbone_memory.hpp"
#include "peer/trainer.hpp"

namespace dedloc::tool {

/// Parameters of a trainer.
struct SyntheticTrainerOptions {
    PeerKey peer;                            ///< the gradients depend on this key
    double samples_per_second = 0;           ///< 0: holds a state and computes nothing
    const BackboneMemory* memory = nullptr;  ///< keeps each state; null: states are not kept
    const kernels::Workers& workers;         ///< for updates and digests; outlives the trainer
    /// Verifies the average of step `step` before it is applied; called on the worker thread.
    /// Empty: averages are not verified.
    std::function<void(StepIndex, const FloatVector&)> checks;
    /// The worker has stopped because of an exception with this message; called on the worker.
    std::function<void(const std::string&)> failed;
};

/// How long a trainer has computed.
struct ComputingTime {
    double seconds = 0;  ///< in micro-batches that are finished
    double of = 0;       ///< seconds since its first micro-batch began; 0: it has not begun
    /// The part of the time that it has computed in.
    double share() const { return of > 0 ? seconds / of : 0; }
};

/// Performs its actions one after the other on its worker.
class SyntheticTrainer final : public Trainer {
  public:
    /// Starts the worker, which reports event::StateReached of the kept state or, if there is none,
    /// of the run's first state, if that follows from the run file. `sink` is called on the worker
    /// thread.
    SyntheticTrainer(const formats::RunFile& run, SyntheticTrainerOptions options, EventSink sink);
    /// Waits for the current call and ends the worker.
    ~SyntheticTrainer() override;

    /// A micro-batch is one sample and takes 1 ÷ rate; a freeze waits for the end of the current
    /// one. While kMaxCalls of them are queued, further calls block.
    void perform(TrainerAction action) override;

    /// Any thread.
    ComputingTime computing_time() const;

  private:
    using Clock = std::chrono::steady_clock;

    void post(std::function<void()> call);
    /// The next call; an empty function at the end of the micro-batch; nothing at shutdown.
    std::optional<std::function<void()>> next();
    void run();
    void on(const action::Work& work);
    void on(const action::Overlap& overlap);
    void on(const action::Freeze& freeze);
    void on(const action::Apply& apply);
    void on(const action::TakeSnapshot&);
    void on(const action::Load& load);
    void on(const action::Pause&);
    void on(const action::Mix&) {}  ///< its gradient depends on no data
    void begin(StepIndex step, Samples max);
    void next_micro_batch();
    void count_micro_batch();
    void finish_micro_batch();
    void await_micro_batch();
    void prepare_gradient(StepIndex step);
    void hand_over();
    void stop_computing();
    bool begins_with_state(const formats::RunFile& run);
    bool recall();
    void report_state();

    const SyntheticTrainerOptions options_;
    const EventSink sink_;
    const Clock::duration micro_batch_time_;  ///< zero without a rate

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> calls_;  ///< guarded by mutex_
    bool is_over_ = false;                     ///< guarded by mutex_

    // Used by the worker only.
    state::ModelState state_;
    platform::CopyOnWrite shares_{state_.bytes()};
    FloatVector gradient_;  ///< a sample's gradient in the round of gradient_step_
    std::optional<StepIndex> gradient_step_;  ///< nothing: gradient_ is empty
    bool has_sum_ = false;                    ///< samples_ counts
    bool is_computing_ = false;               ///< a micro-batch
    Clock::time_point batch_ends_at_;
    Samples samples_;
    Samples max_;                          ///< samples at which no more are computed
    std::atomic<Clock::rep> began_at_{0};  ///< when the first micro-batch began; 0: never
    std::atomic<Clock::rep> computed_{0};  ///< time of finished micro-batches
    std::optional<StepIndex> freeze_;      ///< requested; done at the end of the micro-batch
    std::thread worker_;
};

}  // namespace dedloc::tool
