// A Trainer with a closed-form optimum, in virtual time: every sample's loss is ½‖x − aᵢ‖², so its
// gradient is x − aᵢ and the best x is the mean of all aᵢ. It asks the world to call it back when a
// micro-batch is done.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "peer/base/random.hpp"
#include "peer/state/model_state.hpp"
#include "peer/trainer.hpp"

namespace dedloc::sim {

class QuadraticTrainer final : public Trainer {
  public:
    using Schedule = std::function<void(Duration, std::function<void()>)>;
    struct Settings {
        std::uint64_t elements = 0;
        Duration micro_batch_time = std::chrono::milliseconds{200};
        std::uint64_t micro_batch = 8;
        std::uint64_t seed = 0;
        bool starts_with_state = false;
    };

    QuadraticTrainer(const Settings& settings, EventSink sink, Schedule schedule);
    void start();  ///< reports the first state, if there is one

    void work(StepIndex step) override;
    void freeze(StepIndex step) override;
    void apply(StepIndex step, SharedFloats average, const UpdateScalars& scalars) override;
    void snapshot() override;
    void load(StepIndex step, const Digest& digest, SharedBytes bytes) override;
    void pause() override;

    const state::ModelState& state() const { return state_; }
    /// Makes the next frozen contribution not finite.
    void poison() { is_poisoned_ = true; }
    bool is_computing() const { return is_working_; }

  private:
    void next_batch();
    void batch_done();
    void hand_over();

    const Settings settings_;
    const EventSink sink_;
    const Schedule schedule_;
    state::ModelState state_;
    Random random_;
    bool is_working_ = false;  ///< a micro-batch is under way
    bool wants_work_ = false;
    std::optional<StepIndex> freeze_;
    std::uint64_t epoch_ = 0;  ///< call-backs of an older one are void
    bool is_poisoned_ = false;
    Samples samples_;
    double loss_sum_ = 0;
    FloatVector sum_;
};

}  // namespace dedloc::sim
