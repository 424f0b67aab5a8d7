// A Trainer in virtual time. It computes real gradients of a Problem at once and tells of them when
// the time of the micro-batch has passed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "peer/base/random.hpp"
#include "peer/simulation/problem.hpp"
#include "peer/state/model_state.hpp"
#include "peer/trainer.hpp"

namespace dedloc::simulation {

/// What a trainer froze, so that others can compute it again: samples [first, first + count) of the
/// data, added one after the other to a sum that began at zero.
struct Frozen {
    StepIndex step;
    Digest state;  ///< that it was computed on
    Contribution contribution;
    std::uint64_t first_sample = 0;
    SharedFloats residual{};  ///< what its peer added to it (fp16); null: nothing
};

/// A state as a host keeps it on its disk.
struct Checkpoint {
    StepIndex step;
    Digest digest;
    SharedBytes bytes;
};

class VirtualTrainer final : public Trainer {
  public:
    /// Calls the function after the wait, unless the process is gone by then.
    using Schedule = std::function<void(Duration, std::function<void()>)>;
    using Witness = std::function<void(const Frozen&)>;
    struct Settings {
        Duration micro_batch_time = std::chrono::milliseconds{200};
        std::uint64_t micro_batch = 8;  ///< samples; 0: computes nothing
        Duration apply_time{};          ///< from apply or load to StateReached
        std::uint64_t first_sample = 0;
    };

    /// `problem` must outlive it. `witness` sees every contribution with samples before it is sent.
    VirtualTrainer(const Problem& problem, const Settings& settings, EventSink sink,
                   Schedule schedule, Witness witness);

    /// Begins with the problem's first state, or with a checkpoint, and reports it.
    void start_at_the_beginning();
    void start_from(const Checkpoint& checkpoint);

    void work(StepIndex step) override;
    void freeze(StepIndex step) override;
    void apply(StepIndex step, SharedFloats average, const UpdateScalars& scalars) override;
    void snapshot() override;
    void load(StepIndex step, const Digest& digest, SharedBytes bytes) override;
    void pause() override;

    bool has_state() const { return has_state_; }
    const state::ModelState& state() const { return state_; }
    Checkpoint checkpoint() const;
    bool is_computing() const { return is_working_; }
    /// The next contribution is not finite.
    void poison() { is_poisoned_ = true; }
    /// A bit of the parameters flips while the next average is applied.
    void flip_a_bit() { flips_ = true; }
    /// Whether such a flip is in the state.
    bool is_tainted() const { return is_tainted_; }

  private:
    void next_batch();
    void batch_done();
    void hand_over();
    void stop_work();
    void report_state();
    void answer(Event event);
    void flush();

    const Problem& problem_;
    const Settings settings_;
    const EventSink sink_;
    const Schedule schedule_;
    const Witness witness_;
    state::ModelState state_;
    bool has_state_ = false;
    bool is_working_ = false;  ///< a micro-batch is under way
    bool wants_work_ = false;
    std::optional<StepIndex> freeze_;
    std::uint64_t epoch_ = 0;  ///< call-backs of an older one are void
    bool is_poisoned_ = false;
    bool flips_ = false;
    bool is_tainted_ = false;
    std::uint64_t next_sample_;
    std::uint64_t first_of_sum_ = 0;
    Digest digest_;  ///< of state_
    Samples samples_;
    double loss_sum_ = 0;
    FloatVector sum_;
    struct Answer {
        Event event;
        bool is_ready;  ///< false: the update it tells of is still being computed
    };
    std::deque<Answer> answers_;  ///< in the order of the calls
};

}  // namespace dedloc::simulation
