// Updates and loads are computed at once but reported after apply_time; events of later calls wait
// behind them in answers_, because a Trainer answers in the order of its calls. An update that
// comes in the middle of a micro-batch waits for its end in waiting_, with the snapshots that
// follow it. A scheduled end of a micro-batch cannot be cancelled: stop_work() increments epoch_,
// and the callback of an older epoch does nothing.
#include "peer/simulation/virtual_trainer.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "peer/base/bytes.hpp"
#include "peer/base/check.hpp"

namespace dedloc::simulation {

VirtualTrainer::VirtualTrainer(const Problem& problem, const Settings& settings, EventSink sink,
                               Schedule schedule, Witness witness)
    : problem_(problem),
      settings_(settings),
      sink_(std::move(sink)),
      schedule_(std::move(schedule)),
      witness_(std::move(witness)),
      state_(problem.tensors(), simulated_optimizer()),
      next_sample_(settings.first_sample) {}

void VirtualTrainer::start_at_the_beginning() {
    state_.initialise(problem_.initial_parameters());
    report_state();
}

void VirtualTrainer::start_from(const Checkpoint& checkpoint) {
    const bool is_sound = state_.restore(checkpoint.step, *checkpoint.bytes, checkpoint.digest);
    DEDLOC_CHECK(is_sound, "a checkpoint has its recorded digest", checkpoint.step.value());
    report_state();
}

Checkpoint VirtualTrainer::checkpoint() const {
    const auto bytes = state_.bytes();
    return {.step = state_.step(),
            .digest = digest_,
            .bytes = std::make_shared<Buffer>(bytes.begin(), bytes.end())};
}

void VirtualTrainer::perform(TrainerAction action) {
    std::visit([this](const auto& wanted) { on(wanted); }, action);
}

void VirtualTrainer::on(const action::Work& work) {
    begin(work.step, std::numeric_limits<std::uint64_t>::max());
}
void VirtualTrainer::on(const action::Overlap& overlap) {
    begin(overlap.step, overlap.max.value());
}

/// Begins a sum, or goes on with the present one, until it has `max` samples.
void VirtualTrainer::begin(StepIndex step, std::uint64_t max) {
    if (!has_state_ || step != state_.step() || settings_.micro_batch == 0) return;
    max_ = max;
    if (!std::exchange(wants_work_, true)) {
        samples_ = Samples{0};
        loss_sum_ = 0;
        parts_.clear();
        sum_.assign(state_.element_count(), 0.0f);
    }
    if (!is_working_ && !freeze_ && samples_.value() < max_) next_batch();
}

void VirtualTrainer::next_batch() {
    is_working_ = true;
    schedule_(settings_.micro_batch_time, [this, epoch = epoch_] {
        if (epoch == epoch_) batch_done();
    });
}

void VirtualTrainer::batch_done() {
    is_working_ = false;
    if (wants_work_) {
        // Which samples they are does not depend on the mixture here; tests look at its name.
        const auto mixture = mixture_at(mixture_.get(), state_.step());
        const bool is_same = !parts_.empty() && parts_.back().step == state_.step() &&
                             parts_.back().mixture == mixture;
        if (!is_same) {
            parts_.push_back({.step = state_.step(),
                              .state = digest_,
                              .first_sample = next_sample_,
                              .mixture = mixture});
        }
        for (std::uint64_t s = 0; s < settings_.micro_batch; ++s) {
            loss_sum_ += problem_.add_gradient(state_.parameters(), next_sample_++, sum_);
        }
        parts_.back().samples += settings_.micro_batch;
        samples_ += Samples{settings_.micro_batch};
        computed_ += settings_.micro_batch_time;
        const double rate =
            static_cast<double>(settings_.micro_batch) / seconds_of(settings_.micro_batch_time);
        answer(event::Progressed{
            .step = state_.step(), .samples = samples_, .samples_per_second = rate});
    }
    if (freeze_) hand_over();
    if (!waiting_.empty()) return call_waiting();
    if (wants_work_ && samples_.value() < max_) next_batch();
}

void VirtualTrainer::call_waiting() {
    for (const auto& call : std::exchange(waiting_, {})) call();
}

void VirtualTrainer::on(const action::Freeze& freeze) {
    freeze_ = freeze.step;
    if (!is_working_) hand_over();
}

void VirtualTrainer::hand_over() {
    const StepIndex step = *std::exchange(freeze_, std::nullopt);
    Contribution contribution;
    if (wants_work_ && step == state_.step() && samples_ > Samples{0}) {
        // The next sum begins with a vector of its own.
        const auto sum = std::make_shared<FloatVector>(std::move(sum_));
        contribution = {
            .samples = samples_, .loss_sum = loss_sum_, .is_finite = !is_poisoned_, .sum = sum};
        if (std::exchange(is_poisoned_, false)) {
            sum->front() = std::numeric_limits<float>::infinity();
        }
        witness_({step, digest_, contribution, parts_});
    }
    wants_work_ = false;
    answer(event::ContributionFrozen{.step = step, .contribution = contribution});
}

void VirtualTrainer::on(const action::Apply& apply) {
    DEDLOC_CHECK(has_state_ && apply.step == state_.step(), "an update is for the trainer's state",
                 apply.step.value());
    if (!is_working_) return update(*apply.average, apply.scalars);
    waiting_.emplace_back([this, apply] { update(*apply.average, apply.scalars); });
}

void VirtualTrainer::update(const FloatVector& average, const UpdateScalars& scalars) {
    (void)state_.apply(average, scalars);
    if (std::exchange(flips_, false)) {
        Buffer bytes{state_.bytes().begin(), state_.bytes().end()};
        float first = 0;
        std::memcpy(&first, bytes.data(), sizeof(first));
        first += 1;
        std::memcpy(bytes.data(), &first, sizeof(first));
        const StepIndex step = state_.step();
        DEDLOC_CHECK(state_.restore(step, bytes, state::state_digest(step, bytes)),
                     "a state with a wrong parameter is a state", step.value());
        is_tainted_ = true;
    }
    report_state();
}

void VirtualTrainer::on(const action::TakeSnapshot& wanted) {
    DEDLOC_CHECK(has_state_, "a snapshot requires a state");
    if (!waiting_.empty()) {
        waiting_.emplace_back([this, wanted] { on(wanted); });
        return;
    }
    const auto bytes = state_.bytes();
    answer(event::SnapshotTaken{
        .step = state_.step(),
        .digest = digest_,
        .bytes = stable_bytes(std::make_shared<Buffer>(bytes.begin(), bytes.end())),
        .leaves = state_.leaf_digests()});
}

void VirtualTrainer::on(const action::Load& load) {
    on(action::Pause{});
    if (state_.restore(load.step, *load.bytes, load.digest)) {
        is_tainted_ = false;
        report_state();
    } else {
        answer(event::StateRefused{.step = load.step});
    }
}

void VirtualTrainer::on(const action::Pause&) {
    stop_work();
    if (freeze_) hand_over();
    call_waiting();
}

void VirtualTrainer::stop_work() {
    ++epoch_;
    is_working_ = wants_work_ = false;
}

void VirtualTrainer::report_state() {
    has_state_ = true;
    digest_ = state_.digest();
    if (is_tainted_) tainted_.insert(digest_);
    answers_.push_back({event::StateReached{.step = state_.step(), .digest = digest_}, false});
    schedule_(settings_.apply_time, [this] {
        const auto first = std::find_if(answers_.begin(), answers_.end(),
                                        [](const Answer& answer) { return !answer.is_ready; });
        first->is_ready = true;
        flush();
    });
}

void VirtualTrainer::answer(Event event) {
    answers_.push_back({std::move(event), true});
    flush();
}

void VirtualTrainer::flush() {
    while (!answers_.empty() && answers_.front().is_ready) {
        sink_(std::move(answers_.front().event));
        answers_.pop_front();
    }
}

}  // namespace dedloc::simulation
