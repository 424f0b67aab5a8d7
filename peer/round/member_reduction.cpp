// A member that follows plans: chunks of contributions and averages. Every plan that is newer by
// term and attempt is noted, but followed only if it counts exactly our frozen contribution; the
// Reduction survives new plans and keeps chunks that still fit. A PlanChange is applied to the
// newest plan here, and if that is not its base the coordinator is asked for the whole plan. A
// reducer that has freed slices which a new plan needs gets them again.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "peer/planning/request.hpp"
#include "peer/round/member.hpp"
#include "peer/wire/plan_change.hpp"

namespace dedloc::round {
namespace {

/// Chunks queued at a link, not counting those already on the path (FrameWritten). Few enough that
/// urgent messages do not wait long and that a slow uplink to many reducers does not queue the
/// whole contribution; enough that the link is never idle.
constexpr std::uint64_t kQueuedChunks = 2;
constexpr std::uint64_t kMinWindow = 32 * 1024;

}  // namespace

Reduction& Member::begin_reduction() {
    auto& reduction = this_round().reduction;
    if (!reduction) {
        reduction.emplace(config_.rules.elements, config_.rules.codec, self_,
                          config_.rules.kept_slice_bytes, std::exchange(spare_, nullptr));
    }
    return *reduction;
}

// --- plans -----------------------------------------------------------------------

bool Member::is_news(StepIndex step, const wire::Plan& plan) const {
    const auto block = planning::on_the_wire(config_.rules.codec).block_elements;
    const bool fits = plan.elements == config_.rules.elements && plan.chunk_elements % block == 0;
    if (step != voter_.head().step || !fits) return false;
    const wire::Plan* const last = last_plan();
    return last == nullptr || plan.term > last->term ||
           (plan.term == last->term && plan.attempt > last->attempt);
}

/// Whether the newest plan is that of this attempt.
bool Member::has_plan(const Term& term, std::uint32_t attempt) const {
    const wire::Plan* const last = last_plan();
    return last != nullptr && last->term == term && last->attempt == attempt;
}

/// Whether the plan has samples, and exactly our contribution.
bool Member::counts_us(const wire::Plan& plan) const {
    const std::uint32_t index = wire::index_of(plan, self_);
    if (index == plan.members.size()) return false;
    const wire::PlanMember& own = plan.members[index];
    const bool is_ours = held_.is_named_by(own) && own.receives == config_.receives;
    return is_ours && std::ranges::any_of(plan.members, [](const wire::PlanMember& member) {
               return member.samples > Samples{0};
           });
}

void Member::on_plan(TimePoint now, StepIndex step, const wire::Plan& plan, Outbox& out) {
    if (!is_news(step, plan)) return;
    this_round().plan = plan;
    const bool is_expected = phase() >= Phase::kFrozen && phase() <= Phase::kReady;
    if (!is_expected || !counts_us(plan)) return;
    phase_ = Reducing{.term = plan.term, .stall_at = now + config_.rules.stall_timeout};
    Reduction& reduction = begin_reduction();
    round_->arrivals.on_plan(now);
    reduction.follow(plan, held_.encoder());
    if (HeldAverage& held = round_->average; reduction.take_dropped() && held.values) {
        if (held.term != plan.term) round_->former = std::move(held);
        held = {};
    }
    for (auto& [peer, query] : reduction.take_queries()) {
        out.send(peer, step_, std::move(query));
    }
    round_->sealed.clear();
    has_more_ = true;
    report_refused(out);
    check_progress(out);
}

std::optional<wire::Plan> Member::on_plan_change(StepIndex step, const wire::PlanChange& change,
                                                 Outbox& out) {
    if (step != voter_.head().step) return {};
    const std::pair name{change.term, change.attempt};
    if (const wire::Plan* const last = last_plan()) {
        if (name <= std::pair{last->term, last->attempt}) return {};
        if (auto plan = wire::applied(*last, change)) return plan;
    }
    if (std::exchange(asked_for_, name) == name) return {};
    out.send(change.term.coordinator, step,
             wire::PlanQuery{.term = change.term, .attempt = change.attempt});
    return {};
}

void Member::on_slice_query(const PeerKey& from, StepIndex step, const wire::SliceQuery& query) {
    Reduction* const reduction = this->reduction();
    if (reduction == nullptr || step != voter_.head().step) return;
    reduction->send_again(from, query);
    has_more_ = true;
}

// --- chunks ----------------------------------------------------------------------

void Member::on_chunk(TimePoint now, const PeerKey& from, StepIndex step, const wire::Chunk& chunk,
                      Outbox& out) {
    if (step != voter_.head().step || phase() == Phase::kApplying) return;
    if (config_.receives && (step != step_ || phase() == Phase::kIdle)) return;
    Reduction& reduction = begin_reduction();
    const std::size_t offered = reduction.offered_chunks();
    const auto taken = reduction.take(from, chunk);
    if (taken == Reduction::Taken::kNothing) return report_refused(out);
    round_->arrivals.on_chunk(now, from, chunk.kind, taken, reduction);
    if (!reduction.is_following()) return;
    if (reduction.offered_chunks() != offered) has_more_ = true;
    report_refused(out);
    check_progress(out);
}

/// Reports the senders of pieces that cannot be averaged. At once: waiting brings no better pieces.
void Member::report_refused(Outbox& out) {
    auto* const reducing = std::get_if<Reducing>(&phase_);
    if (reducing == nullptr) return;
    std::vector<std::uint32_t> refused = round_->reduction->refused_senders();
    // Only the coordinator believes itself about averages: another receiver may lie.
    if (reducing->term.coordinator == self_) {
        const std::vector<std::uint32_t> reducers = round_->reduction->refused_reducers();
        refused.insert(refused.end(), reducers.begin(), reducers.end());
        std::ranges::sort(refused);
        refused.erase(std::unique(refused.begin(), refused.end()), refused.end());
    }
    if (refused == reducing->told_refused) return;
    reducing->told_refused = refused;
    const wire::Plan& followed = *plan();
    out.send(reducing->term.coordinator, step_,
             wire::Stalled{.term = followed.term,
                           .attempt = followed.attempt,
                           .senders = {},
                           .reducers = {},
                           .refused = std::move(refused)});
}

void Member::on_link_lost(const PeerKey& peer) {
    if (Reduction* const reduction = this->reduction()) reduction->link_lost(peer);
}

void Member::check_progress(Outbox& out) {
    auto* const reducing = std::get_if<Reducing>(&phase_);
    if (reducing == nullptr) return;
    const Term term = reducing->term;
    const wire::Plan& followed = *plan();
    Reduction& reduction = *round_->reduction;
    if (reduction.is_reduced() && !reducing->has_told_reduced) {
        reducing->has_told_reduced = true;
        out.send(term.coordinator, step_,
                 wire::Reduced{.term = followed.term, .attempt = followed.attempt});
    }
    if (!reduction.is_complete()) return;
    phase_ = Ready{};
    HeldAverage& average = round_->average;
    if (config_.receives && (!average.values || average.sum_id != reduction.sum_id())) {
        if (average.values && average.term != followed.term) round_->former = std::move(average);
        average = {.values = reduction.average(),
                   .digest = reduction.digest(workers_),
                   .sum_id = reduction.sum_id(),
                   .term = followed.term};
    }
    out.send(term.coordinator, step_,
             wire::Ready{.term = followed.term,
                         .attempt = followed.attempt,
                         .average = config_.receives ? average.digest : Digest{}});
}

// --- pacing ----------------------------------------------------------------------

std::vector<PeerKey> Member::take_released() {
    Reduction* const reduction = this->reduction();
    return reduction != nullptr ? reduction->take_released() : std::vector<PeerKey>{};
}

std::vector<PeerKey> Member::take_opened() {
    Reduction* const reduction = this->reduction();
    return reduction != nullptr ? reduction->take_opened() : std::vector<PeerKey>{};
}

void Member::release_all() {
    if (Reduction* const reduction = this->reduction()) reduction->release_all();
    has_more_ = true;
}

std::uint64_t Member::window_bytes() const {
    const std::uint64_t max = config_.rules.window_bytes;
    if (plan() == nullptr) return max;
    const std::uint64_t chunks =
        kQueuedChunks * planning::on_the_wire(config_.rules.codec).bytes_of(plan()->chunk_elements);
    return std::min(max, std::max(kMinWindow, chunks));
}

void Member::advance(TimePoint now, Outbox& out) {
    if (now >= release_at()) release_all();
    auto* const reducing = std::get_if<Reducing>(&phase_);
    if (reducing != nullptr && now >= reducing->stall_at) complain(now, *reducing, out);
}

/// Pacing ends when no chunk was sent for a heartbeat: the reducers that are due may be dead.
TimePoint Member::release_at() const {
    const Reduction* const reduction = this->reduction();
    const bool is_held = reduction != nullptr && reduction->holds_back();
    return is_held ? last_sent_ + config_.rules.heartbeat : kNever;
}

TimePoint Member::next_deadline() const {
    const auto* const reducing = std::get_if<Reducing>(&phase_);
    return std::min(release_at(), reducing != nullptr ? reducing->stall_at : kNever);
}

}  // namespace dedloc::round
