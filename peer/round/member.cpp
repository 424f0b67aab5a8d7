// The handlers follow the diagram in member.hpp; member_reduction.cpp has those of plans and
// chunks. Every way out of a round ends in forget_round(), which drops the residual of a
// contribution that is not settled; so after a decision it is settled before. A Cancel is no way
// out: only what is known of the round is forgotten.
#include "peer/round/member.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <type_traits>

#include "peer/base/check.hpp"
#include "peer/planning/request.hpp"
#include "peer/wire/loss_bound.hpp"

namespace dedloc::round {

static_assert(
    std::is_same_v<
        std::variant_alternative_t<static_cast<std::size_t>(Member::Phase::kApplying), MemberPhase>,
        Applying>,
    "each phase has an alternative, in the same order");

// --- work --------------------------------------------------------------------

void Member::work(Outbox& out) {
    phase_ = Working{};
    samples_ = sum_.take();
    compute(out);
}

void Member::compute(Outbox& out) {
    const bool has_more = step_ < config_.rules.last_step && !is_finished_;
    if (config_.role != Role::kTrainer || !has_more || is_paused_) return;
    if (turn_.kind >= TurnKind::kReduceOnly) return;
    sum_.begin(step_);
    if (turn_.kind == TurnKind::kWhenDone) return hold_when_done(out);
    out.act(action::Work{step_});
}

/// The frozen contribution is on its way: the trainer goes on with the next one.
void Member::overlap(Outbox& out) {
    const bool has_next_round = step_.next() < config_.rules.last_step && !is_finished_;
    const bool may_compute = config_.role == Role::kTrainer && has_next_round && !is_paused_;
    if (!config_.rules.overlaps || !may_compute) return;
    if (turn_.kind != TurnKind::kEveryRound) return;
    if (!sum_.begin(step_)) return;
    out.act(action::Overlap{.step = step_, .max = config_.rules.target_batch});
}

void Member::drop_sum(Outbox& out) {
    sum_.drop();
    out.act(action::Pause{});
}

/// A sum counts for the round of the head if it began on that state, with overlap or for a trainer
/// that is not in every round also on an earlier one.
bool Member::is_sum_too_old() const {
    const bool is_of_last = config_.rules.overlaps && !keeps_samples();
    const std::uint64_t max = is_of_last ? 1 : wire::kMaxStaleSteps;
    return sum_.is_older_than(max, voter_.head().step);
}

void Member::forget_round() {
    forget_attempts();
    if (!keeps_samples()) held_.drop();
}

void Member::on_state(const event::StateReached& event, Outbox& out) {
    // A trainer that has loaded the state has dropped its sum.
    const bool keeps_sum = sum_.is_begun() && phase() == Phase::kApplying;
    if (!keeps_sum) sum_.drop();
    // A state that was loaded may contain the contribution of a round whose record is unknown here.
    if (phase() != Phase::kApplying && held_.is_offered()) held_.drop();
    step_ = event.step;
    digest_ = event.digest;
    holds_state_ = true;
    dispute_.reset();
    forget_round();
    phase_ = Idle{};
    if (step_ == voter_.head().step) {
        if (!wait_with_contribution(out)) work(out);
    } else if (sum_.is_begun() && !keeps_samples()) {
        drop_sum(out);
    }
}

void Member::on_progress(const event::Progressed& event, Outbox& out) {
    samples_per_second_ = event.samples_per_second;
    if (event.step != step_) return;
    if (phase() == Phase::kWorking) {
        samples_ = event.samples;
        const bool holds_each = turn_.kind == TurnKind::kWhenDone;
        if (sum_.is_begun() && holds_each) hold_when_done(out);
    } else if (sum_.is_begun()) {
        sum_.keep(event.samples);
    }
}

// --- freeze and join ---------------------------------------------------------

void Member::on_call(StepIndex step, const wire::Call& call, Outbox& out) {
    if (step != voter_.head().step || phase() == Phase::kApplying) return;
    follow_term(call.term, out);
    if (!config_.receives) {
        // Such a member holds no state and has nothing to freeze: it follows the head's step.
        if (phase() == Phase::kIdle || phase() == Phase::kWorking) forget_round();
        step_ = step;
        phase_ = Frozen{call.term};
    }
    if (auto* const freezing = std::get_if<Freezing>(&phase_)) {
        freezing->term = call.term;
    } else if (is_in_round()) {
        phase_ = Frozen{call.term};
        join(call.term, out);
        overlap(out);
    } else if (phase() == Phase::kWorking && step == step_) {
        freeze(call.term, out);
    }
}

void Member::freeze(const Term& term, Outbox& out) {
    phase_ = Freezing{term};
    held_.begin(sum_.began_at().value_or(step_));
    sum_.end();
    out.act(action::Freeze{step_});
}

void Member::hold(Outbox& out) {
    if (phase() != Phase::kWorking || !config_.receives) return;
    freeze({}, out);
}

void Member::on_frozen(const event::ContributionFrozen& event, Outbox& out) {
    if (stale_freezes_ > 0) {
        --stale_freezes_;
        return;
    }
    const bool is_late = std::exchange(is_handing_over_, false);
    const auto* const freezing = std::get_if<Freezing>(&phase_);
    if ((freezing == nullptr && !is_late) || event.step != step_) return;
    Contribution contribution = event.contribution;
    if (!contribution.is_finite) {
        out.note("the gradient of step " + std::to_string(step_.value()) +
                 " is not finite: its samples do not count");
        contribution = {.samples = {}, .loss_sum = 0, .is_finite = false, .sum = nullptr};
    }
    contribution.loss_sum = wire::accepted_loss_sum(contribution.loss_sum, contribution.samples);
    samples_ = contribution.samples;
    held_.hold(std::move(contribution));
    if (is_late) return;  // the round is over: the contribution waits for the next one
    const Term term = freezing->term;
    phase_ = Frozen{term};
    if (term.coordinator == PeerKey{}) return;  // held, or cancelled: joins at the next call
    join(term, out);
    overlap(out);
}

void Member::join(const Term& term, Outbox& out) {
    const Contribution& contribution = held_.contribution();
    held_.offer();
    out.send(term.coordinator, step_,
             wire::Join{.term = term,
                        .contribution_id = held_.id(),
                        .samples = contribution.samples,
                        .loss_sum = contribution.loss_sum,
                        .is_finite = contribution.is_finite,
                        .receives = config_.receives,
                        .state = config_.receives ? digest_ : Digest{},
                        .upload = upload_,
                        .download = download_,
                        .exponent = held_.encoder().exponent(),
                        .mixture = mixtures_.at(step_),
                        .added = config_.added_sources});
}

// --- the end of a round ------------------------------------------------------

SharedFloats Member::average_of(const CommitRecord& record) const {
    const bool fits = has_state() && step_ == record.step && digest_ == record.previous_state;
    if (!fits || !round_) return nullptr;
    for (const HeldAverage* average : {&round_->average, &round_->former}) {
        if (average->values && average->digest == record.average) return average->values;
    }
    return nullptr;
}

void Member::on_decision(const CommitRecord& record, const Certificate& certificate, Outbox& out) {
    SharedFloats average = average_of(record);
    const bool is_whole = average != nullptr;
    dispute_ = is_whole ? std::nullopt : dispute_about(record);
    out.act(action::Committed{.record = record, .certificate = certificate});
    voter_.append(record);
    // A former process may have joined with the samples that the sum has again.
    const bool is_settled = held_.settle(line_of(record, self_), keeps_samples());
    const bool may_count_twice = !is_settled && (config_.rules.overlaps || keeps_samples());
    if (!config_.receives) return follow_head(out);
    if (is_sum_too_old() || (sum_.is_begun() && may_count_twice)) drop_sum(out);
    if (is_whole) {
        forget_round();
        phase_ = Applying{};
        out.act(
            action::Apply{.step = step_, .average = std::move(average), .scalars = record.scalars});
    } else if (phase() != Phase::kApplying) {
        fall_behind(out);
    }
}

/// The round was decided without our average, which is fetched now. The trainer keeps its sum,
/// which counts for the next round, and computes no more, so that no micro-batch delays the update.
void Member::fall_behind(Outbox& out) {
    if (keeps_samples()) return keep_samples(out);
    if (!config_.rules.overlaps || !sum_.is_begun()) return give_up(out);
    if (phase() == Phase::kWorking) sum_.keep(samples_);
    forget_round();
    phase_ = Idle{};
    out.act(action::Overlap{.step = step_, .max = Samples{0}});
}

bool Member::on_average(const CommitRecord& record, SharedFloats average, Outbox& out) {
    const bool fits = holds_state_ && phase() != Phase::kApplying && step_ == record.step &&
                      digest_ == record.previous_state;
    if (!fits) return false;
    settle_dispute(record, *average, out);
    forget_round();
    phase_ = Applying{};
    out.act(action::Apply{.step = step_, .average = std::move(average), .scalars = record.scalars});
    return true;
}

void Member::on_cancel(StepIndex step, Outbox& out) {
    if (!is_in_round() || step != step_) return;
    forget_attempts();
    if (auto* const freezing = std::get_if<Freezing>(&phase_)) {
        freezing->term = {};
        return;
    }
    phase_ = Frozen{};
    if (!held_.is_held()) work(out);
}

void Member::give_up(Outbox& out) {
    if (phase() == Phase::kApplying || phase() == Phase::kIdle) {
        if (sum_.is_begun() || is_handing_over_) drop_sum(out);
        held_.drop();
        is_handing_over_ = false;
        return;
    }
    drop_sum(out);
    forget_attempts();
    held_.drop();
    is_handing_over_ = false;
    phase_ = Idle{};
}

void Member::resume(Outbox& out) {
    if (phase() != Phase::kIdle) return;
    if (config_.receives && (!holds_state_ || step_ != voter_.head().step)) return;
    if (!wait_with_contribution(out)) work(out);
}

void Member::restart(const Digest& state, Outbox& out) {
    is_finished_ = false;
    if (!config_.receives) return follow_head(out);
    if (is_sum_too_old()) drop_sum(out);
    if (phase() == Phase::kApplying) return;
    const bool is_ours = holds_state_ && step_ == voter_.head().step && digest_ == state;
    if (!is_ours) return give_up(out);
    if (phase() == Phase::kIdle) return resume(out);
    // Terms and plans of the former generation are void.
    forget_attempts();
    if (auto* const freezing = std::get_if<Freezing>(&phase_)) {
        freezing->term = {};
    } else if (is_in_round()) {
        phase_ = Frozen{};
    }
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
    if (const Reduction* const reduction = this->reduction()) reduction->check_invariants();
    DEDLOC_CHECK(!has_state() || !is_in_round() || step_ == voter_.head().step,
                 "a member takes part with the head's state", step_.value());
    DEDLOC_CHECK(phase() != Phase::kReducing || plan() != nullptr,
                 "a member that reduces has a plan");
    DEDLOC_CHECK(!is_sum_too_old(), "a sum is not older than its run and its turn allow",
                 sum_.began_at().value_or(StepIndex{}).value());
    DEDLOC_CHECK(!held_.is_offered() || held_.is_held(), "what a Join offers is held");

    const bool waits = phase() >= Phase::kFrozen && phase() <= Phase::kReady;
    const Seen seen{.has_contribution = waits && !is_handing_over_,
                    .contribution = held_.id(),
                    .samples = held_.contribution().samples};
    const Seen last = std::exchange(seen_, seen);
    const bool is_same =
        seen.has_contribution && last.has_contribution && seen.contribution == last.contribution;
    DEDLOC_CHECK(!is_same || seen.samples == last.samples,
                 "a contribution does not change while it waits for a round or is in one",
                 seen.samples.value(), last.samples.value());
}

}  // namespace dedloc::round
