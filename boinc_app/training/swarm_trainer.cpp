// The training thread takes commands from a queue, and computes micro-batches while it is empty. If
// a command cannot wait for the end of a micro-batch, two atomics say so, and the model reads them
// between its operations.
#include "boinc_app/training/swarm_trainer.hpp"

#include <chrono>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "boinc_app/training/micro_batches.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/base/check.hpp"
#include "peer/formats/task.hpp"
#include "peer/progress/throughput.hpp"
#include "peer/state/model_state.hpp"

namespace dedloc::training {
namespace {

// The core gives a few commands per step and waits for their answers.
constexpr std::size_t kMaxCommands = 256;
/// How long a freeze or an update lets a micro-batch go on. Longer than most take, and short for
/// the members that wait.
constexpr std::chrono::milliseconds kFreezeGrace{500};

/// Work between two rests where the computing time is limited.
constexpr std::chrono::milliseconds kTurn{100};

/// The clock of the speed measurement only; the protocol gets its time from its driver.
TimePoint now() {
    return TimePoint{std::chrono::steady_clock::now().time_since_epoch()};
}

/// Whether the action is of one of these kinds.
template <class... Kinds>
bool is_any(const TrainerAction& action) {
    return (std::holds_alternative<Kinds>(action) || ...);
}

}  // namespace

/// Everything the training thread owns.
class SwarmTrainer::Worker {
  public:
    Worker(const formats::RunFile& run, Replica& replica, SwarmTrainerOptions options,
           EventSink sink)
        : run_(run),
          options_(std::move(options)),
          sink_(std::move(sink)),
          replica_(replica),
          micro_batches_(replica, options_.micro_batch, formats::samples_together(run)) {}

    const SwarmTrainerOptions& options() const { return options_; }
    bool is_working() const { return is_working_ && samples_ < max_; }
    bool has_samples() const { return samples_ > 0; }
    void attach() { replica_.attach(); }

    void operator()(const TrainerAction& action) {
        std::visit([this](const auto& wanted) { on(wanted); }, action);
    }
    void operator()(const Copy& copy) { copy.take(snapshot()); }
    void operator()(const Stop&) {}

    void on(const action::Work& work) {
        begin(work.step, std::numeric_limits<std::uint64_t>::max());
    }

    void on(const action::Overlap& overlap) {
        // The contribution frozen last may count: its samples are in no other one.
        if (!has_sum_) first_sample_ = next_sample_;
        begin(overlap.step, overlap.max.value());
    }

    void on(const action::Freeze& freeze) {
        const bool is_ours = has_state_ && freeze.step == replica_.step() && samples_ > 0;
        Contribution contribution;
        if (is_ours) {
            GradientSum sum = replica_.take_sum();
            contribution = {.samples = Samples{samples_},
                            .loss_sum = loss_sum_,
                            .is_finite = sum.is_finite,
                            .sum = std::make_shared<const FloatVector>(std::move(sum.values))};
        }
        drop_sum();
        sink_(event::ContributionFrozen{freeze.step, std::move(contribution)});
    }

    void on(const action::Apply& apply) {
        DEDLOC_CHECK(has_state_ && apply.step == replica_.step(),
                     "an update must apply to the current state", apply.step.value(),
                     replica_.step().value());
        replica_.apply(*apply.average, apply.scalars);
        is_working_ = false;
        enter_state();
    }

    void on(const action::TakeSnapshot&) {
        if (auto copy = snapshot()) sink_(std::move(*copy));
    }

    void on(const action::Load& load) {
        if (!replica_.load(load.step, *load.bytes, load.digest)) {
            sink_(event::StateRefused{load.step});
            return;
        }
        has_state_ = true;
        drop_sum();
        enter_state();
    }

    void on(const action::Pause&) {
        drop_sum();
        replica_.release();
    }

    void on(const action::Mix& mix) {
        mixture_ = mix.mixture;
        fitted_.reset();
    }

    /// Adds a micro-batch to the sum, unless it is interrupted.
    void compute_micro_batch(const IsInterrupted& is_interrupted) {
        const auto added = micro_batches_.add(options_.peer, replica_.step(), next_sample_,
                                              options_.micro_batch, is_interrupted, weights());
        if (!added) return;
        loss_sum_ += added->loss_sum;
        samples_ += added->count;
        next_sample_ += added->count;
        speed_.add(now(), Samples{added->count});
        sink_(event::Progressed{replica_.step(), Samples{samples_}, speed_.samples_per_second()});
    }

  private:
    /// The state, which the network's thread may read; nothing if there is none.
    std::optional<event::SnapshotTaken> snapshot() {
        if (!has_state_) return std::nullopt;
        SharedState shared = replica_.share();
        const Digest digest =
            state::state_digest(replica_.step(), shared.leaves, shared.bytes->size());
        return event::SnapshotTaken{replica_.step(), digest, std::move(shared.bytes),
                                    std::move(shared.leaves)};
    }

    /// The weights of the job's sources in force at the state's step; null: the run file's. The
    /// run may have more sources than the job, and the change may be older than some of them.
    formats::SharedWeights weights() {
        const MixtureChange* const change = change_at(mixture_.get(), replica_.step());
        if (change == nullptr) return nullptr;
        const std::size_t sources = run_.sources.size();
        if (change->weights.size() == sources) {
            return formats::SharedWeights{mixture_, &change->weights};
        }
        if (!fitted_ || change != fitted_for_) {
            auto fitted = std::make_shared<std::vector<std::uint64_t>>(change->weights);
            fitted->resize(sources, 0);
            fitted_ = std::move(fitted);
            fitted_for_ = change;
        }
        return fitted_;
    }

    /// Begins a sum, or goes on with the present one, until it has `max` samples.
    void begin(StepIndex step, std::uint64_t max) {
        if (!has_state_ || step != replica_.step()) return;
        const bool was_working = is_working();
        max_ = max;
        is_working_ = true;
        if (!std::exchange(has_sum_, true)) next_sample_ = first_sample_;
        if (!was_working) speed_.resume(now());
    }

    void enter_state() {
        first_sample_ = next_sample_ = 0;
        sink_(event::StateReached{replica_.step(), replica_.digest()});
    }

    void drop_sum() {
        is_working_ = has_sum_ = false;
        replica_.drop_sum();
        samples_ = 0;
        loss_sum_ = 0;
    }

    const formats::RunFile& run_;
    const SwarmTrainerOptions options_;
    const EventSink sink_;
    Replica& replica_;
    MicroBatches micro_batches_;
    SharedMixture mixture_;                      // null: the run file's weights
    formats::SharedWeights fitted_;              // those of fitted_for_, one for each source
    const MixtureChange* fitted_for_ = nullptr;  // one of mixture_'s
    bool has_state_ = false;
    bool is_working_ = false;  // unless the sum has max_ samples
    bool has_sum_ = false;     // the next Work goes on with it, also after an update
    std::uint64_t max_ = 0;
    std::uint64_t first_sample_ = 0;  // number of the first sample of a new sum on this state
    std::uint64_t next_sample_ = 0;
    std::uint64_t samples_ = 0;
    double loss_sum_ = 0;
    progress::Throughput speed_;
};

SwarmTrainer::SwarmTrainer(const formats::RunFile& run, Replica& replica,
                           SwarmTrainerOptions options, EventSink sink)
    : worker_(std::make_unique<Worker>(run, replica, std::move(options), std::move(sink))),
      thread_([this] { this->run(*worker_); }) {}

SwarmTrainer::~SwarmTrainer() {
    {
        const std::lock_guard lock(mutex_);
        commands_.clear();
        commands_.push_back(Stop{});
        interrupt(commands_.back());
    }
    given_.notify_one();
    thread_.join();
}

void SwarmTrainer::give(Command command) {
    {
        const std::lock_guard lock(mutex_);
        DEDLOC_CHECK(commands_.size() < kMaxCommands, "the trainer's command queue is full");
        commands_.push_back(std::move(command));
        interrupt(commands_.back());
    }
    given_.notify_one();
}

void SwarmTrainer::interrupt(const Command& command) {
    if (std::holds_alternative<Copy>(command)) return;
    const auto* const action = std::get_if<TrainerAction>(&command);
    if (action != nullptr &&
        is_any<action::Work, action::Overlap, action::TakeSnapshot, action::Mix>(*action)) {
        return;
    }
    if (action == nullptr || !is_any<action::Freeze, action::Apply>(*action)) {
        must_stop_ = true;
    } else if (freeze_by_.load() == kNever) {
        freeze_by_ = now() + kFreezeGrace;
    }
}

void SwarmTrainer::run(Worker& worker) {
    try {
        set_compute_threads(worker.options().threads);
        worker.attach();
        const IsInterrupted is_interrupted = [&] {
            rest();
            return must_stop_ || (worker.has_samples() && now() >= freeze_by_.load());
        };
        for (;;) {
            std::optional<Command> command;
            {
                std::unique_lock lock(mutex_);
                if (!worker.is_working()) given_.wait(lock, [this] { return !commands_.empty(); });
                if (commands_.empty()) {
                    must_stop_ = false;
                    freeze_by_ = kNever;
                } else {
                    command = std::move(commands_.front());
                    commands_.pop_front();
                }
            }
            worked_until_ = now();
            if (!command) {
                worker.compute_micro_batch(is_interrupted);
            } else if (std::holds_alternative<Stop>(*command)) {
                return;
            } else {
                std::visit(worker, *command);
            }
            worked_ += now() - worked_until_;
        }
    } catch (const std::exception& error) {
        if (worker.options().failed) worker.options().failed(error.what());
    }
}

void SwarmTrainer::limit(double share) {
    DEDLOC_CHECK(share > 0 && share <= 1, "a share is above 0 and at most 1", share);
    share_ = share;
}

void SwarmTrainer::rest() {
    worked_ += now() - std::exchange(worked_until_, now());
    const double share = share_;
    if (share >= 1) worked_ = {};
    if (worked_ < kTurn) return;
    const std::chrono::duration<double> time =
        std::chrono::duration<double>{worked_} * (1 / share - 1);
    worked_ = {};
    std::unique_lock lock(mutex_);
    given_.wait_for(lock, time, [this] { return must_stop_ || freeze_by_.load() != kNever; });
    worked_until_ = now();
}

void SwarmTrainer::perform(TrainerAction action) {
    give(std::move(action));
}

void SwarmTrainer::copy(TakeCopy take) {
    give(Copy{std::move(take)});
}

}  // namespace dedloc::training
