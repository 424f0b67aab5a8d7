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

#include "boinc_app/training/albert.hpp"
#include "boinc_app/training/batch.hpp"
#include "kernels/finite.hpp"
#include "peer/base/check.hpp"
#include "peer/progress/throughput.hpp"
#include "peer/state/run_state.hpp"

namespace dedloc::training {
namespace {

// The core gives a few commands per step and waits for their answers.
constexpr std::size_t kMaxCommands = 256;
/// How long a freeze or an update lets a micro-batch go on. Longer than most take, and short for
/// the members that wait.
constexpr std::chrono::milliseconds kFreezeGrace{500};

/// The clock of the speed measurement only; the protocol gets its time from its driver.
TimePoint now() {
    return TimePoint{std::chrono::steady_clock::now().time_since_epoch()};
}

}  // namespace

/// Everything the training thread owns.
class SwarmTrainer::Worker {
  public:
    Worker(const formats::RunFile& run, std::span<const formats::Shard> shards,
           const kernels::Workers& workers, SwarmTrainerOptions options, EventSink sink)
        : run_(run),
          workers_(workers),
          options_(std::move(options)),
          sink_(std::move(sink)),
          sampler_(run, shards),
          state_(state::tensor_ranges(run), state::optimizer_settings(run)),
          model_(run, state_.parameters()) {}

    const SwarmTrainerOptions& options() const { return options_; }
    bool is_working() const { return is_working_ && samples_ < most_; }
    bool has_samples() const { return samples_ > 0; }

    void operator()(const Work& command) {
        begin(command.step, std::numeric_limits<std::uint64_t>::max());
    }

    void operator()(const Overlap& command) {
        // The contribution frozen last may count: its samples are in no other one.
        if (!has_sum_) first_sample_ = next_sample_;
        begin(command.step, command.most.value());
    }

    void operator()(const Freeze& command) {
        const bool is_ours = has_state_ && command.step == state_.step() && samples_ > 0;
        Contribution contribution;
        if (is_ours) {
            contribution = {.samples = Samples{samples_},
                            .loss_sum = loss_sum_,
                            .is_finite = kernels::all_finite(sum_, workers_),
                            .sum = std::make_shared<const FloatVector>(std::move(sum_))};
        }
        drop_sum();
        sink_(event::ContributionFrozen{command.step, std::move(contribution)});
    }

    void operator()(const Apply& command) {
        DEDLOC_CHECK(has_state_ && command.step == state_.step(),
                     "an update must apply to the current state", command.step.value(),
                     state_.step().value());
        state_.apply(*command.average, command.scalars, workers_);
        is_working_ = false;
        enter_state();
    }

    void operator()(const Snapshot&) {
        if (!has_state_) return;
        const auto bytes = state_.bytes();
        const auto leaves = state_.leaf_digests(workers_);
        sink_(event::SnapshotTaken{
            state_.step(), state::state_digest(state_.step(), leaves, bytes.size()),
            std::make_shared<const Buffer>(bytes.begin(), bytes.end()), leaves});
    }

    void operator()(const Load& command) {
        if (!state_.restore(command.step, *command.bytes, command.digest, workers_)) {
            sink_(event::StateRefused{command.step});
            return;
        }
        has_state_ = true;
        drop_sum();
        enter_state();
    }

    void operator()(const Pause&) { drop_sum(); }

    void operator()(const Stop&) {}

    /// Adds a micro-batch to the sum, unless it is interrupted.
    void compute_micro_batch(const Albert::IsInterrupted& is_interrupted) {
        const MicroBatch batch =
            sampler_.draw(step_random(run_.seed, options_.peer, state_.step()), next_sample_,
                          static_cast<std::size_t>(options_.micro_batch));
        if (sum_.empty()) sum_.assign(static_cast<std::size_t>(state_.element_count()), 0.0f);
        const auto loss = model_.add_gradient(batch, sum_, is_interrupted);
        if (!loss) return;
        loss_sum_ += *loss;
        samples_ += batch.samples;
        next_sample_ += batch.samples;
        speed_.add(now(), Samples{batch.samples});
        sink_(event::Progressed{state_.step(), Samples{samples_}, speed_.samples_per_second()});
    }

  private:
    /// Begins a sum, or goes on with the present one, until it has `most` samples.
    void begin(StepIndex step, std::uint64_t most) {
        if (!has_state_ || step != state_.step()) return;
        const bool was_working = is_working();
        most_ = most;
        is_working_ = true;
        if (!std::exchange(has_sum_, true)) next_sample_ = first_sample_;
        if (!was_working) speed_.resume(now());
    }

    void enter_state() {
        first_sample_ = next_sample_ = 0;
        sink_(event::StateReached{state_.step(), state_.digest(workers_)});
    }

    void drop_sum() {
        is_working_ = has_sum_ = false;
        sum_.clear();
        samples_ = 0;
        loss_sum_ = 0;
    }

    const formats::RunFile& run_;
    const kernels::Workers& workers_;
    const SwarmTrainerOptions options_;
    const EventSink sink_;
    const Sampler sampler_;
    state::ModelState state_;
    Albert model_;  // reads the parameters of state_
    bool has_state_ = false;
    bool is_working_ = false;  // unless the sum has most_ samples
    bool has_sum_ = false;     // the next Work goes on with it, also after an update
    std::uint64_t most_ = 0;
    std::uint64_t first_sample_ = 0;  // number of the first sample of a new sum on this state
    std::uint64_t next_sample_ = 0;
    FloatVector sum_;  // N elements, or none before the first micro-batch
    std::uint64_t samples_ = 0;
    double loss_sum_ = 0;
    progress::Throughput speed_;
};

SwarmTrainer::SwarmTrainer(const formats::RunFile& run, std::span<const formats::Shard> shards,
                           const kernels::Workers& workers, SwarmTrainerOptions options,
                           EventSink sink)
    : worker_(std::make_unique<Worker>(run, shards, workers, std::move(options), std::move(sink))),
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
    if (std::holds_alternative<Work>(command) || std::holds_alternative<Overlap>(command) ||
        std::holds_alternative<Snapshot>(command)) {
        return;
    }
    const bool waits =
        std::holds_alternative<Freeze>(command) || std::holds_alternative<Apply>(command);
    if (!waits) {
        must_stop_ = true;
    } else if (freeze_by_.load() == kNever) {
        freeze_by_ = now() + kFreezeGrace;
    }
}

void SwarmTrainer::run(Worker& worker) {
    try {
        set_compute_threads(worker.options().threads);
        const Albert::IsInterrupted is_interrupted = [&] {
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
            if (!command) {
                worker.compute_micro_batch(is_interrupted);
            } else if (std::holds_alternative<Stop>(*command)) {
                return;
            } else {
                std::visit(worker, *command);
            }
        }
    } catch (const std::exception& error) {
        if (worker.options().failed) worker.options().failed(error.what());
    }
}

void SwarmTrainer::work(StepIndex step) {
    give(Work{step});
}
void SwarmTrainer::overlap(StepIndex step, Samples most) {
    give(Overlap{step, most});
}
void SwarmTrainer::freeze(StepIndex step) {
    give(Freeze{step});
}
void SwarmTrainer::apply(StepIndex step, SharedFloats average, const UpdateScalars& scalars) {
    give(Apply{step, std::move(average), scalars});
}
void SwarmTrainer::snapshot() {
    give(Snapshot{});
}
void SwarmTrainer::load(StepIndex step, const Digest& digest, SharedBytes bytes) {
    give(Load{step, digest, std::move(bytes)});
}
void SwarmTrainer::pause() {
    give(Pause{});
}

}  // namespace dedloc::training
