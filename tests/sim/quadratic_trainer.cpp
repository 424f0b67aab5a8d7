#include "tests/sim/quadratic_trainer.hpp"

#include <limits>
#include <memory>
#include <utility>

#include "peer/base/check.hpp"

namespace dedloc::sim {
namespace {

state::LambSettings lamb() {
    return {.learning_rate = 0.05, .warmup_steps = 2, .total_steps = 1'000, .weight_decay = 0};
}

}  // namespace

QuadraticTrainer::QuadraticTrainer(const Settings& settings, EventSink sink, Schedule schedule)
    : settings_(settings),
      sink_(std::move(sink)),
      schedule_(std::move(schedule)),
      state_({{.offset = 0, .count = settings.elements, .decays = false}}, lamb()),
      random_(settings.seed),
      sum_(settings.elements) {
    Random initial{7};
    FloatVector parameters(settings.elements);
    for (float& x : parameters) x = static_cast<float>(initial.near_normal());
    state_.initialise(parameters);
}

void QuadraticTrainer::start() {
    if (settings_.starts_with_state) {
        sink_(event::StateReached{.step = state_.step(), .digest = state_.digest()});
    }
}

void QuadraticTrainer::work(StepIndex step) {
    if (step != state_.step() || wants_work_) return;
    wants_work_ = true;
    samples_ = Samples{0};
    loss_sum_ = 0;
    sum_.assign(settings_.elements, 0.0f);
    if (!is_working_) next_batch();
}

void QuadraticTrainer::next_batch() {
    is_working_ = true;
    schedule_(settings_.micro_batch_time, [this, epoch = epoch_] {
        if (epoch == epoch_) batch_done();
    });
}

void QuadraticTrainer::batch_done() {
    is_working_ = false;
    if (wants_work_) {
        for (std::uint64_t s = 0; s < settings_.micro_batch; ++s) {
            const float target = static_cast<float>(random_.near_normal()) + 3.0f;
            for (std::size_t i = 0; i < sum_.size(); ++i) {
                const float gradient = state_.parameters()[i] - target;
                sum_[i] += gradient;
                loss_sum_ += 0.5 * double{gradient} * double{gradient};
            }
        }
        samples_ += Samples{settings_.micro_batch};
        const double rate = static_cast<double>(settings_.micro_batch) /
                            std::chrono::duration<double>(settings_.micro_batch_time).count();
        sink_(event::Progressed{
            .step = state_.step(), .samples = samples_, .samples_per_second = rate});
    }
    if (freeze_) {
        hand_over();
    } else if (wants_work_) {
        next_batch();
    }
}

void QuadraticTrainer::freeze(StepIndex step) {
    freeze_ = step;
    if (!is_working_) hand_over();
}

void QuadraticTrainer::hand_over() {
    const StepIndex step = *std::exchange(freeze_, std::nullopt);
    Contribution contribution;
    if (wants_work_ && step == state_.step()) {
        contribution = {.samples = samples_,
                        .loss_sum = loss_sum_,
                        .is_finite = true,
                        .sum = std::make_shared<FloatVector>(sum_)};
        if (samples_ == Samples{0}) contribution.sum = nullptr;
    }
    if (std::exchange(is_poisoned_, false)) contribution.is_finite = false;
    wants_work_ = false;
    sink_(event::ContributionFrozen{.step = step, .contribution = contribution});
}

void QuadraticTrainer::apply(StepIndex step, SharedFloats average, const UpdateScalars& scalars) {
    DEDLOC_CHECK(step == state_.step(), "an update is for the state we hold", step.value());
    ++epoch_;
    is_working_ = wants_work_ = false;
    (void)state_.apply(*average, scalars);
    sink_(event::StateReached{.step = state_.step(), .digest = state_.digest()});
}

void QuadraticTrainer::snapshot() {
    const auto bytes = state_.bytes();
    sink_(event::SnapshotTaken{.step = state_.step(),
                               .digest = state_.digest(),
                               .bytes = std::make_shared<Buffer>(bytes.begin(), bytes.end()),
                               .leaves = state_.leaf_digests()});
}

void QuadraticTrainer::load(StepIndex step, const Digest& digest, SharedBytes bytes) {
    ++epoch_;
    is_working_ = wants_work_ = false;
    freeze_.reset();
    if (state_.restore(step, *bytes, digest)) {
        sink_(event::StateReached{.step = step, .digest = digest});
    } else {
        sink_(event::StateRefused{.step = step});
    }
}

void QuadraticTrainer::pause() {
    ++epoch_;
    is_working_ = wants_work_ = false;
    if (freeze_) hand_over();
}

}  // namespace dedloc::sim
