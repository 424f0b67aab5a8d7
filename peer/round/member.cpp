#include "peer/round/member.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "peer/base/check.hpp"

namespace dedloc::round {

void Member::work(Outbox& out) {
    phase_ = Phase::kWorking;
    samples_ = Samples{0};
    const bool has_more = step_ < config_.rules.last_step && !is_finished_;
    if (config_.role == Role::kTrainer && has_more) out.act(action::Work{step_});
}

void Member::forget_round() {
    frozen_ = {};
    reduction_.reset();
    early_.clear();
    early_elements_ = 0;
}

void Member::state_reached(const event::StateReached& event, Outbox& out) {
    step_ = event.step;
    digest_ = event.digest;
    forget_round();
    work(out);
}

void Member::progressed(const event::Progressed& event) {
    samples_per_second_ = event.samples_per_second;
    if (phase_ == Phase::kWorking && event.step == step_) samples_ = event.samples;
}

// --- freeze and join ---------------------------------------------------------

void Member::called(StepIndex step, const wire::Call& call, Outbox& out) {
    if (!has_state() || step != step_) return;
    call_attempt_ = call.attempt;
    if (phase_ == Phase::kWorking) {
        phase_ = Phase::kFreezing;
        out.act(action::Freeze{step_});
    } else if (phase_ != Phase::kFreezing) {
        reduction_.reset();
        phase_ = Phase::kFrozen;
        join(out);
    }
}

void Member::frozen(const event::ContributionFrozen& event, Outbox& out) {
    if (phase_ != Phase::kFreezing || event.step != step_) return;
    frozen_ = event.contribution;
    if (!frozen_.is_finite) {
        out.note("the gradient of step " + std::to_string(step_.value()) +
                 " is not finite: its samples are left out");
        frozen_ = {.samples = {}, .loss_sum = 0, .is_finite = false, .sum = nullptr};
    }
    samples_ = frozen_.samples;
    phase_ = Phase::kFrozen;
    join(out);
}

void Member::join(Outbox& out) {
    out.send(config_.coordinator, step_,
             wire::Join{.attempt = call_attempt_,
                        .samples = frozen_.samples,
                        .loss_sum = frozen_.loss_sum,
                        .is_finite = frozen_.is_finite,
                        .digest = digest_});
}

// --- reduce ------------------------------------------------------------------

void Member::planned(StepIndex step, const wire::Plan& plan, Outbox& out) {
    const bool is_expected =
        phase_ == Phase::kFrozen || phase_ == Phase::kReducing || phase_ == Phase::kReady;
    if (!is_expected || step != step_) return;
    if (reduction_ && plan.attempt <= reduction_->plan().attempt) return;
    if (plan.boundaries.back() != config_.rules.elements) return;
    const auto self = std::find_if(plan.members.begin(), plan.members.end(),
                                   [&](const wire::PlanMember& m) { return m.peer == self_; });
    if (self == plan.members.end() || self->samples != frozen_.samples) return;
    const bool has_samples =
        std::any_of(plan.members.begin(), plan.members.end(),
                    [](const wire::PlanMember& m) { return m.samples > Samples{0}; });
    if (!has_samples) return;

    const PeerIndex index{static_cast<std::uint32_t>(self - plan.members.begin())};
    phase_ = Phase::kReducing;
    reduction_.emplace(plan, index, frozen_);
    send(reduction_->start(), out);
    auto early = std::exchange(early_, {});
    early_elements_ = 0;
    for (const auto& [from, chunk] : early) this->chunk(from, step_, chunk, out);
    check_complete(out);
}

void Member::send(std::vector<Outgoing> outgoing, Outbox& out) {
    for (Outgoing& item : outgoing) {
        const PeerKey& to = reduction_->plan().members[item.to.value()].peer;
        out.send(to, step_, std::move(item.chunk));
    }
}

void Member::chunk(const PeerKey& from, StepIndex step, const wire::Chunk& chunk, Outbox& out) {
    if (step != step_ || !has_state()) return;
    const bool is_ahead = !reduction_ || chunk.attempt > reduction_->plan().attempt;
    if (is_ahead) {
        // Its sender has the plan already; ours is on its way.
        if (early_elements_ + chunk.elements.size() > 2 * config_.rules.elements) return;
        early_elements_ += chunk.elements.size();
        early_.emplace_back(from, chunk);
        return;
    }
    const PeerIndex sender = reduction_->index_of(from);
    if (sender.value() == reduction_->plan().members.size()) return;
    send(reduction_->take(sender, chunk), out);
    check_complete(out);
}

void Member::check_complete(Outbox& out) {
    if (phase_ != Phase::kReducing || !reduction_->is_complete()) return;
    phase_ = Phase::kReady;
    average_digest_ = blake2b(std::as_bytes(std::span{*reduction_->average()}));
    out.send(config_.coordinator, step_,
             wire::Ready{.attempt = reduction_->plan().attempt, .average = average_digest_});
}

// --- the end of a round ------------------------------------------------------

void Member::committed(const CommitRecord& record, const SharedBytes& frame, Outbox& out) {
    const bool is_mine = phase_ == Phase::kReady && record.step == step_ &&
                         record.attempt == reduction_->plan().attempt &&
                         record.average == average_digest_ && record.previous_state == digest_;
    if (!is_mine) return;  // the next heartbeat of the coordinator makes us load the state
    phase_ = Phase::kApplying;
    out.act(action::Committed{.record = record, .signed_frame = frame});
    out.act(
        action::Apply{.step = step_, .average = reduction_->average(), .scalars = record.scalars});
    forget_round();
}

void Member::cancelled(StepIndex step, const wire::Cancel&, Outbox& out) {
    if (!is_in_round() || phase_ == Phase::kApplying || step != step_) return;
    forget_round();
    work(out);
}

void Member::coordinator_lost(Outbox& out) {
    if (!is_in_round() || phase_ == Phase::kApplying) return;
    out.note("the coordinator is gone: the round of step " + std::to_string(step_.value()) +
             " is off");
    forget_round();
    work(out);
}

void Member::outdated(Outbox& out) {
    forget_round();
    if (phase_ == Phase::kIdle) return;
    phase_ = Phase::kIdle;
    samples_ = Samples{0};
    out.act(action::Pause{});
}

void Member::finish(Outbox& out) {
    is_finished_ = true;
    forget_round();
    if (phase_ == Phase::kIdle || phase_ == Phase::kApplying) return;
    phase_ = Phase::kWorking;
    out.act(action::Pause{});
}

}  // namespace dedloc::round
