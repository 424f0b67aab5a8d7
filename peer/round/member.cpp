// The handlers follow the diagram in member.hpp. Every plan that is newer by term and attempt is
// noted in plan_, but followed only if it counts exactly our frozen contribution; the Reduction
// survives new plans and keeps chunks that still fit. Every way out of a round ends in
// forget_round(), which drops the residual of a contribution that is not settled; so settle() after
// a decision must come before it. A Cancel is no way out: only the attempts are forgotten.
#include "peer/round/member.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "peer/base/check.hpp"
#include "peer/planning/request.hpp"
#include "peer/wire/loss_bound.hpp"

namespace dedloc::round {
namespace {

/// Chunks queued at a link, not counting those already on the path (FrameWritten). Few enough that
/// urgent messages do not wait long and that a slow uplink to many reducers does not queue the
/// whole contribution; enough that the link is never idle.
constexpr std::uint64_t kQueuedChunks = 2;
constexpr std::uint64_t kMinWindow = 32 * 1024;

}  // namespace

// --- work --------------------------------------------------------------------

void Member::work(Outbox& out) {
    phase_ = Phase::kWorking;
    samples_ = std::exchange(ahead_, Samples{0});
    compute(out);
}

void Member::compute(Outbox& out) {
    const bool has_more = step_ < config_.rules.last_step && !is_finished_;
    if (config_.role != Role::kTrainer || !has_more || is_paused_) return;
    if (assignment_.attendance >= Attendance::kReduceOnly) return;
    if (!std::exchange(has_sum_, true)) sum_began_at_ = step_;
    if (assignment_.attendance == Attendance::kWhenDone) return hold_when_done(out);
    out.act(action::Work{step_});
}

/// The frozen contribution is on its way: the trainer goes on with the next one.
void Member::overlap(Outbox& out) {
    const bool has_next_round = step_.next() < config_.rules.last_step && !is_finished_;
    const bool may_compute = config_.role == Role::kTrainer && has_next_round && !is_paused_;
    if (!config_.rules.overlaps || !may_compute) return;
    if (assignment_.attendance != Attendance::kEveryRound) return;
    if (std::exchange(has_sum_, true)) return;
    sum_began_at_ = step_;
    out.act(action::Overlap{.step = step_, .most = config_.rules.target_batch});
}

void Member::drop_sum(Outbox& out) {
    has_sum_ = false;
    ahead_ = Samples{0};
    out.act(action::Pause{});
}

/// A sum counts for the round of the head if it began on that state, with overlap or for a trainer
/// that is not in every round also on an earlier one.
bool Member::is_sum_too_old() const {
    const bool is_of_last = config_.rules.overlaps && !keeps_samples();
    const std::uint64_t most = is_of_last ? 1 : wire::kMaxStaleSteps;
    return has_sum_ && voter_.head().step.value() > sum_began_at_.value() + most;
}

void Member::forget_round() {
    forget_attempts();
    if (!keeps_samples()) drop_contribution();
}

void Member::forget_attempts() {
    reduction_.reset();
    has_plan_ = has_told_reduced_ = false;
    average_ = former_ = {};
    told_refused_.clear();
    last_placed_.clear();
    first_slices_.clear();
    last_average_.clear();
    sealed_.clear();
    stall_at_ = kNever;
}

/// Settles the rounding error of the frozen contribution: `record` says whether it was averaged.
/// Returns false if the record counts another contribution of ours.
bool Member::settle(const CommitRecord& record) {
    is_offered_ = false;
    const CommitLine* line = line_of(record, self_);
    const bool is_counted = line != nullptr && line->samples > Samples{0};
    if (!is_counted && keeps_samples()) return true;
    const Encoder frozen = std::exchange(frozen_, {});
    if (!is_counted) return true;
    const Contribution& ours = frozen.contribution();
    const bool is_ours = line->samples == ours.samples && line->loss_sum == ours.loss_sum;
    // Otherwise the record counts an earlier contribution of ours: accepted in spite of a Cancel,
    // or joined with by a former process.
    is_ours ? feedback_.counted(frozen) : feedback_.forget();
    return is_ours;
}

void Member::on_state(const event::StateReached& event, Outbox& out) {
    // A trainer that has loaded the state has dropped its sum.
    const bool keeps_sum = has_sum_ && phase_ == Phase::kApplying;
    if (!keeps_sum) {
        has_sum_ = false;
        ahead_ = Samples{0};
    }
    // A state that was loaded may contain the contribution of a round whose record is unknown here.
    if (phase_ != Phase::kApplying && is_offered_) drop_contribution();
    step_ = event.step;
    digest_ = event.digest;
    holds_state_ = true;
    forget_round();
    phase_ = Phase::kIdle;
    if (step_ == voter_.head().step) {
        if (!wait_with_contribution(out)) work(out);
    } else if (has_sum_ && !keeps_samples()) {
        drop_sum(out);
    }
}

void Member::on_progress(const event::Progressed& event, Outbox& out) {
    samples_per_second_ = event.samples_per_second;
    if (event.step != step_) return;
    if (phase_ == Phase::kWorking) {
        samples_ = event.samples;
        if (has_sum_ && assignment_.attendance == Attendance::kWhenDone) hold_when_done(out);
    } else if (has_sum_) {
        ahead_ = event.samples;
    }
}

// --- freeze and join ---------------------------------------------------------

void Member::on_call(StepIndex step, const wire::Call& call, Outbox& out) {
    if (step != voter_.head().step || phase_ == Phase::kApplying) return;
    follow_term(call.term, out);
    if (!config_.receives) {
        // Such a member holds no state and has nothing to freeze: it follows the head's step.
        if (phase_ == Phase::kIdle || phase_ == Phase::kWorking) forget_round();
        step_ = step;
        phase_ = Phase::kFrozen;
    }
    if (!config_.receives || is_in_round()) {
        term_ = call.term;
        if (phase_ == Phase::kFreezing) return;
        phase_ = Phase::kFrozen;
        join(out);
        return overlap(out);
    }
    if (phase_ != Phase::kWorking || step != step_) return;
    term_ = call.term;
    freeze(out);
}

void Member::freeze(Outbox& out) {
    phase_ = Phase::kFreezing;
    contribution_began_at_ = has_sum_ ? sum_began_at_ : step_;
    has_sum_ = false;
    ++contribution_id_;
    out.act(action::Freeze{step_});
}

void Member::hold(Outbox& out) {
    if (phase_ != Phase::kWorking || !config_.receives) return;
    term_ = {};
    freeze(out);
}

void Member::on_frozen(const event::ContributionFrozen& event, Outbox& out) {
    const bool is_late = std::exchange(is_handing_over_, false);
    if ((phase_ != Phase::kFreezing && !is_late) || event.step != step_) return;
    Contribution contribution = event.contribution;
    if (!contribution.is_finite) {
        out.note("the gradient of step " + std::to_string(step_.value()) +
                 " is not finite: its samples do not count");
        contribution = {.samples = {}, .loss_sum = 0, .is_finite = false, .sum = nullptr};
    }
    contribution.loss_sum = wire::accepted_loss_sum(contribution.loss_sum, contribution.samples);
    samples_ = contribution.samples;
    frozen_ = feedback_.freeze(std::move(contribution));
    is_offered_ = false;
    if (is_late) return;  // the round is over: the contribution waits for the next one
    phase_ = Phase::kFrozen;
    if (term_.coordinator == PeerKey{}) return;  // held, or cancelled: joins at the next call
    join(out);
    overlap(out);
}

void Member::join(Outbox& out) {
    const Contribution& contribution = frozen_.contribution();
    is_offered_ = contribution.samples > Samples{0};
    out.send(term_.coordinator, step_,
             wire::Join{.term = term_,
                        .contribution_id = contribution_id_,
                        .samples = contribution.samples,
                        .loss_sum = contribution.loss_sum,
                        .is_finite = contribution.is_finite,
                        .receives = config_.receives,
                        .state = config_.receives ? digest_ : Digest{},
                        .upload = upload_,
                        .download = download_,
                        .exponent = frozen_.exponent()});
}

// --- reduce ------------------------------------------------------------------

bool Member::is_news(StepIndex step, const wire::Plan& plan) const {
    const auto block = planning::on_the_wire(config_.rules.codec).block_elements;
    const bool fits = plan.elements == config_.rules.elements && plan.chunk_elements % block == 0;
    if (step != voter_.head().step || !fits) return false;
    return !has_plan_ || plan.term > plan_.term ||
           (plan.term == plan_.term && plan.attempt > plan_.attempt);
}

void Member::begin_reduction() {
    reduction_.emplace(config_.rules.elements, config_.rules.codec, self_,
                       config_.rules.kept_slice_bytes, std::exchange(spare_, nullptr));
}

void Member::on_plan(TimePoint now, StepIndex step, const wire::Plan& plan, Outbox& out) {
    if (!is_news(step, plan)) return;
    plan_ = plan;
    has_plan_ = true;
    const bool is_expected =
        phase_ == Phase::kFrozen || phase_ == Phase::kReducing || phase_ == Phase::kReady;
    const std::uint32_t index = wire::index_of(plan, self_);
    if (!is_expected || index == plan.members.size()) return;
    const wire::PlanMember& own = plan.members[index];
    const bool is_ours = own.samples == frozen_.contribution().samples &&
                         own.contribution_id == contribution_id_ &&
                         own.receives == config_.receives;
    const bool has_samples =
        std::any_of(plan.members.begin(), plan.members.end(),
                    [](const wire::PlanMember& m) { return m.samples > Samples{0}; });
    if (!is_ours || !has_samples) return;

    term_ = plan.term;
    phase_ = Phase::kReducing;
    planned_at_ = now;
    stall_at_ = now + config_.rules.stall_timeout;
    has_told_reduced_ = false;
    told_refused_.clear();
    if (!reduction_) begin_reduction();
    reduction_->follow(plan, frozen_);
    for (auto& [peer, query] : reduction_->take_queries()) {
        out.send(peer, step_, std::move(query));
    }
    sealed_.clear();
    has_more_ = true;
    report_refused(out);
    check_progress(out);
}

void Member::on_chunk(TimePoint now, const PeerKey& from, StepIndex step, const wire::Chunk& chunk,
                      Outbox& out) {
    if (step != voter_.head().step || phase_ == Phase::kApplying) return;
    if (config_.receives && (step != step_ || phase_ == Phase::kIdle)) return;
    if (!reduction_) begin_reduction();
    const std::size_t offered = reduction_->offered_chunks();
    const auto taken = reduction_->take(from, chunk);
    if (taken == Reduction::Taken::kNothing) return report_refused(out);
    // Only progress is proof against the suspicion that a member has stalled.
    if (taken == Reduction::Taken::kPlaced) last_placed_[from] = now;
    if (chunk.phase == wire::Phase::kScatter) {
        note_slice(now, from);
    } else {
        last_average_[from] = now;
    }
    if (!reduction_->is_following()) return;
    if (reduction_->offered_chunks() != offered) has_more_ = true;
    report_refused(out);
    check_progress(out);
}

/// Reports the senders of pieces that cannot be averaged. At once: waiting brings no better pieces.
void Member::report_refused(Outbox& out) {
    if (phase_ != Phase::kReducing) return;
    std::vector<std::uint32_t> refused = reduction_->refused_senders();
    // Only the coordinator believes itself about averages: another receiver may lie.
    if (term_.coordinator == self_) {
        const std::vector<std::uint32_t> reducers = reduction_->refused_reducers();
        refused.insert(refused.end(), reducers.begin(), reducers.end());
        std::ranges::sort(refused);
        refused.erase(std::unique(refused.begin(), refused.end()), refused.end());
    }
    if (refused == told_refused_) return;
    told_refused_ = refused;
    out.send(term_.coordinator, step_,
             wire::Stalled{.term = plan_.term,
                           .attempt = plan_.attempt,
                           .senders = {},
                           .reducers = {},
                           .refused = std::move(refused)});
}

void Member::on_link_lost(const PeerKey& peer) {
    if (reduction_) reduction_->link_lost(peer);
}

void Member::check_progress(Outbox& out) {
    if (phase_ != Phase::kReducing) return;
    if (reduction_->is_reduced() && !has_told_reduced_) {
        has_told_reduced_ = true;
        out.send(term_.coordinator, step_,
                 wire::Reduced{.term = plan_.term, .attempt = plan_.attempt});
    }
    if (!reduction_->is_complete()) return;
    phase_ = Phase::kReady;
    stall_at_ = kNever;
    if (config_.receives && (!average_.values || average_.sum_id != reduction_->sum_id())) {
        if (average_.values && average_.term != plan_.term) former_ = std::move(average_);
        average_ = {.values = reduction_->average(),
                    .digest = reduction_->digest(workers_),
                    .sum_id = reduction_->sum_id(),
                    .term = plan_.term};
    }
    out.send(term_.coordinator, step_,
             wire::Ready{.term = plan_.term,
                         .attempt = plan_.attempt,
                         .average = config_.receives ? average_.digest : Digest{}});
}

std::uint64_t Member::window_bytes() const {
    const std::uint64_t most = config_.rules.window_bytes;
    if (plan() == nullptr) return most;
    const std::uint64_t chunks =
        kQueuedChunks * planning::on_the_wire(config_.rules.codec).bytes_of(plan()->chunk_elements);
    return std::min(most, std::max(kMinWindow, chunks));
}

void Member::advance(TimePoint now, Outbox& out) {
    if (now >= release_at()) release_all();
    if (phase_ == Phase::kReducing && now >= stall_at_) complain(now, out);
}

/// Pacing ends when no chunk was sent for a heartbeat: the reducers that are due may be dead.
TimePoint Member::release_at() const {
    return reduction_ && reduction_->holds_back() ? last_sent_ + config_.rules.heartbeat : kNever;
}

TimePoint Member::next_deadline() const {
    return std::min(release_at(), phase_ == Phase::kReducing ? stall_at_ : kNever);
}

// --- the end of a round ------------------------------------------------------

SharedFloats Member::average_of(const CommitRecord& record) const {
    const bool fits = has_state() && step_ == record.step && digest_ == record.previous_state;
    for (const Average* average : {&average_, &former_}) {
        if (fits && average->values && average->digest == record.average) return average->values;
    }
    return nullptr;
}

void Member::on_decision(const CommitRecord& record, const Certificate& certificate, Outbox& out) {
    SharedFloats average = average_of(record);
    const bool is_whole = average != nullptr;
    out.act(action::Committed{.record = record, .certificate = certificate});
    voter_.append(record);
    // A former process may have joined with the samples that the sum has again.
    const bool may_count_twice = !settle(record) && (config_.rules.overlaps || keeps_samples());
    if (!config_.receives) return follow_head(out);
    if (is_sum_too_old() || (has_sum_ && may_count_twice)) drop_sum(out);
    if (is_whole) {
        forget_round();
        phase_ = Phase::kApplying;
        out.act(
            action::Apply{.step = step_, .average = std::move(average), .scalars = record.scalars});
    } else if (phase_ != Phase::kApplying) {
        fall_behind(out);
    }
}

/// The round was decided without our average, which is fetched now. The trainer keeps its sum,
/// which counts for the next round, and computes no more, so that no micro-batch delays the update.
void Member::fall_behind(Outbox& out) {
    if (keeps_samples()) return keep_samples(out);
    if (!config_.rules.overlaps || !has_sum_) return give_up(out);
    if (phase_ == Phase::kWorking) ahead_ = samples_;
    forget_round();
    phase_ = Phase::kIdle;
    out.act(action::Overlap{.step = step_, .most = Samples{0}});
}

bool Member::on_average(const CommitRecord& record, SharedFloats average, Outbox& out) {
    const bool fits = holds_state_ && phase_ != Phase::kApplying && step_ == record.step &&
                      digest_ == record.previous_state;
    if (!fits) return false;
    forget_round();
    phase_ = Phase::kApplying;
    out.act(action::Apply{.step = step_, .average = std::move(average), .scalars = record.scalars});
    return true;
}

void Member::on_cancel(StepIndex step, Outbox& out) {
    if (!is_in_round() || step != step_) return;
    forget_attempts();
    term_ = {};
    if (phase_ == Phase::kFreezing) return;
    phase_ = Phase::kFrozen;
    if (frozen_.contribution().samples == Samples{0}) work(out);
}

void Member::give_up(Outbox& out) {
    if (phase_ == Phase::kApplying || phase_ == Phase::kIdle) {
        if (has_sum_ || is_handing_over_) drop_sum(out);
        drop_contribution();
        is_handing_over_ = false;
        return;
    }
    drop_sum(out);
    forget_attempts();
    drop_contribution();
    is_handing_over_ = false;
    phase_ = Phase::kIdle;
}

void Member::resume(Outbox& out) {
    if (phase_ != Phase::kIdle) return;
    if (config_.receives && (!holds_state_ || step_ != voter_.head().step)) return;
    if (!wait_with_contribution(out)) work(out);
}

void Member::restart(const Digest& state, Outbox& out) {
    is_finished_ = false;
    if (!config_.receives) return follow_head(out);
    if (is_sum_too_old()) drop_sum(out);
    if (phase_ == Phase::kApplying) return;
    const bool is_ours = holds_state_ && step_ == voter_.head().step && digest_ == state;
    if (!is_ours) return give_up(out);
    if (phase_ == Phase::kIdle) return resume(out);
    // Terms and plans of the former generation are void.
    forget_attempts();
    term_ = {};
    if (phase_ > Phase::kFrozen) phase_ = Phase::kFrozen;
}

void Member::follow_head(Outbox& out) {
    forget_round();
    step_ = voter_.head().step;
    work(out);
}

void Member::finish(Outbox& out) {
    if (std::exchange(is_finished_, true)) return;
    drop_sum(out);
}

void Member::check_invariants() const {
    if (reduction_) reduction_->check_invariants();
    DEDLOC_CHECK(!has_state() || !is_in_round() || step_ == voter_.head().step,
                 "a member takes part with the head's state", step_.value());
    DEDLOC_CHECK(phase_ != Phase::kReducing || (reduction_ && reduction_->is_following()),
                 "a member that reduces has a plan");
    DEDLOC_CHECK(!is_sum_too_old(), "a sum is not older than its run and its turn allow",
                 sum_began_at_.value());
}

}  // namespace dedloc::round
