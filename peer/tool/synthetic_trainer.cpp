// perform() queues closures; the worker runs them and counts a micro-batch whenever its
// time has passed, so a long update delays micro-batches. A contribution is the step's gradient
// times the samples counted. An update waits for the end of the micro-batch. Loading stops
// computing first, which answers a pending freeze with an empty contribution. The state is kept
// before it is reported.
#include "peer/tool/synthetic_trainer.hpp"

#include <exception>
#include <limits>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/signals_blocked.hpp"
#include "peer/state/run_state.hpp"
#include "peer/tool/synthetic_gradient.hpp"

namespace dedloc::tool {
namespace {

/// Capacity of the queue of calls; the protocol has at most one update, one load and one snapshot
/// in progress.
constexpr std::size_t kMaxCalls = 16;
/// Loss of every sample, as there is no model.
constexpr double kLoss = 1.0;

}  // namespace

SyntheticTrainer::SyntheticTrainer(const formats::RunFile& run, SyntheticTrainerOptions options,
                                   EventSink sink)
    : options_(std::move(options)),
      sink_(std::move(sink)),
      micro_batch_time_(options_.samples_per_second > 0
                            ? std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(1 / options_.samples_per_second))
                            : Clock::duration::zero()),
      state_(state::tensor_ranges(run), state::optimizer_settings(run)) {
    if (begins_with_state(run)) calls_.emplace_back([this] { report_state(); });
    const platform::SignalsBlocked blocked;
    worker_ = std::thread([this] { this->run(); });
}

SyntheticTrainer::~SyntheticTrainer() {
    {
        const std::lock_guard lock(mutex_);
        is_over_ = true;
    }
    changed_.notify_all();
    worker_.join();
}

void SyntheticTrainer::perform(TrainerAction action) {
    post([this, action = std::move(action)] {
        std::visit([this](const auto& wanted) { on(wanted); }, action);
    });
}

void SyntheticTrainer::post(std::function<void()> call) {
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return is_over_ || calls_.size() < kMaxCalls; });
        if (is_over_) return;
        calls_.push_back(std::move(call));
    }
    changed_.notify_all();
}

std::optional<std::function<void()>> SyntheticTrainer::next() {
    std::function<void()> call;
    {
        std::unique_lock lock(mutex_);
        const auto has_news = [this] { return is_over_ || !calls_.empty(); };
        if (is_computing_) {
            changed_.wait_until(lock, batch_ends_at_, has_news);
        } else {
            changed_.wait(lock, has_news);
        }
        if (is_over_) return std::nullopt;
        if (calls_.empty()) return call;
        call = std::move(calls_.front());
        calls_.pop_front();
    }
    changed_.notify_all();
    return call;
}

void SyntheticTrainer::run() {
    try {
        while (const auto call = next()) {
            if (*call) (*call)();
            if (is_computing_ && Clock::now() >= batch_ends_at_) finish_micro_batch();
        }
    } catch (const std::exception& error) {
        {
            const std::lock_guard lock(mutex_);
            is_over_ = true;
        }
        changed_.notify_all();
        options_.failed(error.what());
    }
}

void SyntheticTrainer::on(const action::Work& work) {
    begin(work.step, Samples{std::numeric_limits<std::uint64_t>::max()});
}

void SyntheticTrainer::on(const action::Overlap& overlap) {
    begin(overlap.step, overlap.max);
}

void SyntheticTrainer::on(const action::Freeze& freeze) {
    freeze_ = freeze.step;
    if (!is_computing_) hand_over();
}

void SyntheticTrainer::on(const action::Apply& apply) {
    DEDLOC_CHECK(apply.step == state_.step(), "the update is for another step than the state's",
                 apply.step.value());
    await_micro_batch();
    if (options_.checks) options_.checks(apply.step, *apply.average);
    shares_.before_write();
    state_.apply(*apply.average, apply.scalars, options_.workers);
    report_state();
}

void SyntheticTrainer::on(const action::TakeSnapshot&) {
    const auto leaves = state_.leaf_digests(options_.workers);
    sink_(event::SnapshotTaken{
        .step = state_.step(),
        .digest = state::state_digest(state_.step(), leaves, state_.byte_count()),
        .bytes = shares_.share(),
        .leaves = leaves});
}

void SyntheticTrainer::on(const action::Load& load) {
    stop_computing();
    shares_.before_write();
    if (state_.restore(load.step, *load.bytes, load.digest, options_.workers)) {
        return report_state();
    }
    sink_(event::StateRefused{load.step});
}

void SyntheticTrainer::on(const action::Pause&) {
    stop_computing();
}

/// Begins a sum, or goes on with the present one, until it has `max` samples.
void SyntheticTrainer::begin(StepIndex step, Samples max) {
    if (options_.samples_per_second <= 0 || step != state_.step()) return;
    max_ = max;
    if (!std::exchange(has_sum_, true)) samples_ = Samples{0};
    if (began_at_ == 0) began_at_ = Clock::now().time_since_epoch().count();
    if (!is_computing_ && !freeze_) next_micro_batch();
    prepare_gradient(step);
}

void SyntheticTrainer::next_micro_batch() {
    if (!has_sum_ || samples_ >= max_) return;
    is_computing_ = true;
    batch_ends_at_ = Clock::now() + micro_batch_time_;
}

void SyntheticTrainer::count_micro_batch() {
    is_computing_ = false;
    samples_ += Samples{1};
    computed_ += micro_batch_time_.count();
    sink_(event::Progressed{.step = state_.step(),
                            .samples = samples_,
                            .samples_per_second = options_.samples_per_second});
}

void SyntheticTrainer::finish_micro_batch() {
    count_micro_batch();
    freeze_ ? hand_over() : next_micro_batch();
}

/// Waits for the end of the micro-batch that is being computed.
void SyntheticTrainer::await_micro_batch() {
    if (!is_computing_) return;
    {
        std::unique_lock lock(mutex_);
        if (changed_.wait_until(lock, batch_ends_at_, [this] { return is_over_; })) return;
    }
    count_micro_batch();
}

/// A contribution is the gradient of its round's step times its samples, whatever state they were
/// computed on, so that it follows from the record.
void SyntheticTrainer::prepare_gradient(StepIndex step) {
    if (gradient_step_ == step) return;
    gradient_.resize(state_.element_count());
    fill_gradient(options_.peer, step, gradient_);
    gradient_step_ = step;
}

void SyntheticTrainer::hand_over() {
    const StepIndex step = *std::exchange(freeze_, std::nullopt);
    Contribution contribution;
    if (has_sum_ && step == state_.step() && samples_ > Samples{0}) {
        prepare_gradient(step);
        auto sum = std::make_shared<FloatVector>(gradient_.size());
        scale_gradient(gradient_, samples_, *sum);
        contribution = {.samples = samples_,
                        .loss_sum = kLoss * static_cast<double>(samples_.value()),
                        .is_finite = true,
                        .sum = std::move(sum)};
    }
    has_sum_ = false;
    sink_(event::ContributionFrozen{.step = step, .contribution = std::move(contribution)});
}

void SyntheticTrainer::stop_computing() {
    is_computing_ = has_sum_ = false;
    if (freeze_) hand_over();
}

bool SyntheticTrainer::begins_with_state(const formats::RunFile& run) {
    if (recall()) return true;
    if (run.initial_state) return false;
    state_.initialise(state::initial_parameters(run));
    return true;
}

ComputingTime SyntheticTrainer::computing_time() const {
    const Clock::rep began = began_at_;
    if (began == 0) return {};
    const auto seconds = [](Clock::rep ticks) { return seconds_of(Clock::duration{ticks}); };
    return {.seconds = seconds(computed_),
            .of = seconds(Clock::now().time_since_epoch().count() - began)};
}

bool SyntheticTrainer::recall() {
    const auto kept = options_.memory != nullptr ? options_.memory->state() : std::nullopt;
    if (!kept) return false;
    if (state_.restore(kept->step, kept->bytes, kept->digest, options_.workers)) return true;
    log_warning("the kept state is damaged: it must be loaded from the members");
    return false;
}

void SyntheticTrainer::report_state() {
    const Digest digest = state_.digest(options_.workers);
    if (options_.memory != nullptr) options_.memory->keep(state_.step(), digest, state_.bytes());
    sink_(event::StateReached{.step = state_.step(), .digest = digest});
}

}  // namespace dedloc::tool
