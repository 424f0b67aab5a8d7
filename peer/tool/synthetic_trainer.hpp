// The Trainer seam with synthetic gradients: a real state and real updates, samples by the clock.
// One worker thread owns the state.
#pragma once

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

#include "peer/formats/run_file.hpp"
#include "peer/state/model_state.hpp"
#include "peer/tool/backbone_memory.hpp"
#include "peer/trainer.hpp"

namespace dedloc::tool {

struct SyntheticTrainerOptions {
    PeerKey peer;                            ///< whose gradients
    double samples_per_second = 0;           ///< 0: holds a state and computes nothing
    const BackboneMemory* memory = nullptr;  ///< null: begins with the run's first state
    /// Looks whether this average of state `step` is what its contributors have sent. Worker
    /// thread. Empty: every average is taken.
    std::function<void(StepIndex, const FloatVector&)> checks;
    /// The worker has met an exception and has stopped; one sentence. Worker thread.
    std::function<void(const std::string&)> failed;
};

class SyntheticTrainer final : public Trainer {
  public:
    /// Starts the worker, which reports event::StateReached of the state in the memory, else of the
    /// run's first. `sink` is called on the worker thread.
    SyntheticTrainer(const formats::RunFile& run, SyntheticTrainerOptions options, EventSink sink);
    /// Ends the worker after the call at hand.
    ~SyntheticTrainer() override;

    // A micro-batch takes the time that the rate says; freeze waits for the one at hand. A call
    // while kMaxCalls wait makes the caller wait.
    void work(StepIndex step) override;
    void freeze(StepIndex step) override;
    void apply(StepIndex step, SharedFloats average, const UpdateScalars& scalars) override;
    void snapshot() override;
    void load(StepIndex step, const Digest& digest, SharedBytes bytes) override;
    void pause() override;

  private:
    using Clock = std::chrono::steady_clock;

    void post(std::function<void()> call);
    /// The next call; an empty one when the micro-batch at hand is over; nothing at the end.
    std::optional<std::function<void()>> next();
    void run();
    void begin(StepIndex step);
    void finish_micro_batch();
    void hand_over();
    void stop_computing();
    void update(StepIndex step, const FloatVector& average, const UpdateScalars& scalars);
    bool recall();
    void report_state();

    const SyntheticTrainerOptions options_;
    const EventSink sink_;
    const Samples micro_batch_;
    const Clock::duration micro_batch_time_;  ///< of no interest without a rate

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> calls_;  ///< guarded by mutex_
    bool is_over_ = false;                     ///< guarded by mutex_

    // The worker's own.
    state::ModelState state_;
    FloatVector gradient_;  ///< of a sample on the state at hand
    bool is_computing_ = false;
    Clock::time_point batch_ends_at_;
    Samples samples_;
    std::optional<StepIndex> freeze_;  ///< waits for the end of the micro-batch
    std::thread worker_;
};

}  // namespace dedloc::tool
