// A Trainer in virtual time. It computes real gradients of a Problem, and reports each micro-batch
// when its virtual duration has passed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/simulation/problem.hpp"
#include "peer/state/model_state.hpp"
#include "peer/trainer.hpp"

namespace dedloc::simulation {

/// Consecutive samples of a contribution that were computed on one state.
struct Part {
    StepIndex step;                   ///< step of that state
    Digest state;                     ///< digest of that state
    std::uint64_t first_sample = 0;   ///< number of the first sample
    std::uint64_t samples = 0;        ///< how many follow, the first one included
    std::optional<Digest> mixture{};  ///< the mixture that they were drawn by (mixture_at)
};

/// A frozen contribution and how to recompute it: add the gradients of the samples of all parts, in
/// order, to a sum of zeros.
struct Frozen {
    StepIndex step;             ///< step of the state on which it was frozen
    Digest state;               ///< digest of that state
    Contribution contribution;  ///< what the peer was given
    std::vector<Part> parts;    ///< one, or with overlap two: a part of the state before is first
    SharedFloats residual{};    ///< what the peer added to the sum; null: nothing
};

/// A saved model state.
struct Checkpoint {
    StepIndex step;     ///< the state's step
    Digest digest;      ///< the state's digest
    SharedBytes bytes;  ///< ModelState::bytes()
};

/// The trainer of one simulated host.
class VirtualTrainer final : public Trainer {
  public:
    /// Calls a function after a virtual duration, unless the process has ended by then.
    using Schedule = std::function<void(Duration, std::function<void()>)>;
    /// Receives every contribution with samples before the peer does.
    using Witness = std::function<void(const Frozen&)>;
    /// Speed and data of a trainer.
    struct Settings {
        Duration micro_batch_time = std::chrono::milliseconds{200};  ///< duration of a micro-batch
        std::uint64_t micro_batch = 8;   ///< samples in a micro-batch; 0: computes nothing
        Duration apply_time{};           ///< time from apply or load to StateReached
        std::uint64_t first_sample = 0;  ///< number of the first sample; the others follow
    };

    /// `problem` must outlive this object.
    VirtualTrainer(const Problem& problem, const Settings& settings, EventSink sink,
                   Schedule schedule, Witness witness);

    /// Takes the problem's state of step 0 and reports it.
    void start_at_the_beginning();
    /// Takes the state of a checkpoint and reports it. Requires an intact one (DEDLOC_CHECK).
    void start_from(const Checkpoint& checkpoint);

    void perform(TrainerAction action) override;

    /// Whether it holds a state.
    bool has_state() const { return has_state_; }
    /// Its state; meaningless without has_state().
    const state::ModelState& state() const { return state_; }
    /// A copy of its state.
    Checkpoint checkpoint() const;
    /// Whether a micro-batch is being computed.
    bool is_computing() const { return is_working_; }
    /// Time spent on micro-batches that are finished.
    Duration computed() const { return computed_; }
    /// Makes the next contribution contain an infinite element.
    void poison() { is_poisoned_ = true; }
    /// Changes a parameter while the next average is applied, like a flipped bit in memory.
    void flip_a_bit() { flips_ = true; }
    /// Whether the state contains such a change.
    bool is_tainted() const { return is_tainted_; }
    /// Whether a state of this digest, which it holds or has held, contains such a change. Another
    /// one may have been loaded before the first one is reported.
    bool is_tainted(const Digest& state) const { return tainted_.contains(state); }

  private:
    void on(const action::Work& work);
    void on(const action::Overlap& overlap);
    void on(const action::Freeze& freeze);
    void on(const action::Apply& apply);
    void on(const action::TakeSnapshot&);
    void on(const action::Load& load);
    void on(const action::Pause&);
    void on(const action::Mix& mix) { mixture_ = mix.mixture; }
    void begin(StepIndex step, std::uint64_t max);
    void next_batch();
    void batch_done();
    void call_waiting();
    void update(const FloatVector& average, const UpdateScalars& scalars);
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
    SharedMixture mixture_;
    bool has_state_ = false;
    bool is_working_ = false;          ///< a micro-batch is being computed
    bool wants_work_ = false;          ///< sum_ is being accumulated
    std::optional<StepIndex> freeze_;  ///< a freeze waits for the end of the micro-batch
    std::uint64_t epoch_ = 0;          ///< callbacks of an older epoch are void
    bool is_poisoned_ = false;
    bool flips_ = false;
    bool is_tainted_ = false;
    std::set<Digest> tainted_;  ///< digests of the states that contained a flipped bit
    std::uint64_t next_sample_;
    Digest digest_;            ///< digest of state_
    std::vector<Part> parts_;  ///< what sum_ consists of
    std::uint64_t max_ = 0;    ///< samples at which sum_ grows no more
    Samples samples_;
    Duration computed_{};
    double loss_sum_ = 0;
    FloatVector sum_;
    struct Answer {
        Event event;
        bool is_ready;  ///< false: the update or load that it reports is not finished
    };
    std::deque<Answer> answers_;                 ///< events not sent yet, in the order of the calls
    std::deque<std::function<void()>> waiting_;  ///< calls that wait for the end of the micro-batch
};

}  // namespace dedloc::simulation
