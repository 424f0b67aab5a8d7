// The phases of a round: gather, call, plan, amend. Handlers note facts, and repeat messages that a
// peer lacks; advance(), which follows every event, makes all transitions. coordinator_joins.cpp
// takes Joins and complaints, coordinator_deadlines.cpp says which members are late,
// coordinator_plans.cpp sends plans; coordinator_proposals.cpp proposes and counts votes.
#include "peer/round/coordinator.hpp"

#include <algorithm>
#include <vector>

#include "peer/base/check.hpp"
#include "peer/round/claims.hpp"
#include "peer/round/relays.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::round {
namespace {

/// Bounds of the interval between two estimates of the batch; it shrinks as the target comes near.
constexpr Duration kMinEstimatePause = std::chrono::milliseconds{10};
constexpr Duration kMaxEstimatePause = std::chrono::milliseconds{100};
constexpr int kEstimates = 16;  ///< the interval is this fraction of the time to the target

}  // namespace

// --- messages ----------------------------------------------------------------

bool Coordinator::is_about_us(StepIndex step, const Term& term) const {
    return election_.is_leading() && step == step_ && term == term_;
}

void Coordinator::on_head(TimePoint now, bool is_live, const CommitRecord* last) {
    const bool is_ours = election_.is_leading() && is_live && head_.is_live();
    if (is_ours && last != nullptr) participation_.on_decision(now, *last, now - published_at_);
    participation_.on_head(last);
    head_.on_head(now, is_live);
    batch_.begin(voter_.head().step);
}

void Coordinator::on_generation() {
    reset();
    term_ = {};
}

void Coordinator::set_paused(TimePoint now, bool is_paused) {
    participation_.disturb();
    if (is_paused) return head_.on_pause(now);
    participation_.on_resume(head_.on_resume(now));
}

void Coordinator::on_reduced(const PeerKey& from, StepIndex step, const wire::Reduced& reduced) {
    if (!is_about_us(step, reduced.term) || phase_ != Phase::kPlanned) return;
    if (reduced.attempt != attempt_) return;
    reduced_.insert(from);
    plan_holders_.insert(from);
}

void Coordinator::on_ready(TimePoint now, const PeerKey& from, StepIndex step,
                           const wire::Ready& ready) {
    if (!is_about_us(step, ready.term) || phase_ != Phase::kPlanned) return;
    if (ready.attempt != attempt_ || !seats_.contains(from)) return;
    plan_holders_.insert(from);
    ready_[from] = ready.average;
    ready_at_[from] = now;
    reduced_.insert(from);
}

void Coordinator::on_heartbeat(TimePoint now, const PeerKey& from, const wire::Heartbeat& heartbeat,
                               Outbox& out) {
    if (phase_ != Phase::kPlanned) return;
    const bool has_plan = heartbeat.term == term_ && heartbeat.attempt == attempt_;
    if (has_plan) plan_holders_.insert(from);
    if (plan_->relays.empty() || !seats_.contains(from)) return;
    const TimePoint last =
        plan_resent_at_.contains(from) ? plan_resent_at_.at(from) : published_at_;
    if (has_plan || now < last + config_.rules.heartbeat || links_.is_crowded()) return;
    plan_resent_at_[from] = now;
    out.send(from, step_, *plan_);
}

void Coordinator::on_link_lost(TimePoint now, const PeerKey& peer, Outbox& out) {
    batch_.forget(peer);
    const auto seat = seats_.find(peer);
    participation_.on_link_lost(peer, seat != seats_.end());
    if (seat == seats_.end() || seat->second.is_lost) return;
    out.note(peer.brief() + " was lost in the round of step " + std::to_string(step_.value()));
    if (phase_ != Phase::kProposed) {
        const TimePoint since = phase_ == Phase::kCalled ? called_at_ : published_at_;
        hung_up_.push_back({.peer = peer,
                            .account = Exclusions::account_of(peer, seat->second.user),
                            .waited = now - since});
    }
    if (phase_ == Phase::kCalled) {
        seats_.erase(seat);
    } else {
        seat->second.is_lost = true;
        is_amend_due_ = phase_ == Phase::kPlanned;
    }
}

void Coordinator::on_newcomer(const PeerKey& peer, Outbox& out) {
    if (!election_.is_leading()) return;
    const auto assignment = participation_.attendances().assignment_of(peer);
    if (assignment && assignment->term == election_.term()) out.send(peer, step_, *assignment);
    if (phase_ == Phase::kGathering) return;
    const auto seat = seats_.find(peer);
    const bool is_awaited = seat != seats_.end() && !seat->second.join;
    if (phase_ == Phase::kCalled && is_awaited) out.send(peer, step_, wire::Call{term_});
    if (phase_ == Phase::kPlanned) out.send(peer, step_, *plan_);
    if (phase_ == Phase::kProposed && voter_.is_voter(peer)) {
        out.send(peer, step_, whole_proposal());
    }
}

// --- time --------------------------------------------------------------------

TimePoint Coordinator::next_deadline() const {
    const bool waits = phase_ == Phase::kPlanned && (is_amend_due_ || !untold_.empty());
    return std::min({deadline_, judge_at_, ask_at_, waits ? tell_at_ : kNever});
}

void Coordinator::reset() {
    const bool is_decided = step_ < voter_.head().step;
    if (plan_ && is_decided) veterans_ = veterans_of(*plan_);
    if (record_ && is_decided) participation_.on_decided_state(record_->previous_state);
    phase_ = Phase::kGathering;
    members_since_ = frozen_since_ = kNever;
    seats_.clear();
    hung_up_.clear();
    plan_.reset();
    plan_holders_.clear();
    untold_.clear();
    record_.reset();
    reduced_.clear();
    ready_.clear();
    ready_at_.clear();
    gone_.clear();
    demoted_.clear();
    stalls_.clear();
    votes_.clear();
    is_amend_due_ = false;
    deadline_ = judge_at_ = ask_at_ = kNever;
}

void Coordinator::advance(TimePoint now, Outbox& out) {
    const bool is_ours =
        election_.is_leading() &&
        (phase_ == Phase::kGathering || (step_ == voter_.head().step && term_ == election_.term()));
    if (!is_ours) reset();
    if (!election_.is_leading()) return;
    if (phase_ != Phase::kProposed && election_.inherited()) {
        propose_again(now, *election_.inherited(), out);
    }
    const bool had_round = phase_ != Phase::kGathering;
    if (now >= deadline_) time_out(now, out);
    if (now >= judge_at_) judge_stalls(now, out);
    if (phase_ == Phase::kPlanned && now >= tell_at_) {
        tell_some(now, out);
        if (is_amend_due_ && now >= tell_at_) amend(now, out);
    }
    // The round was cancelled: our own member must get the Cancel before the next Call.
    if (had_round && phase_ == Phase::kGathering) return;
    if (phase_ == Phase::kProposed && ask_at_ == kNever) {
        ask_at_ = now + config_.rules.election_pause;
    }
    if (now >= ask_at_) ask_again(now, out);
    switch (phase_) {
        case Phase::kGathering:
            return gather(now, out);
        case Phase::kCalled: {
            const bool all_joined = std::all_of(seats_.begin(), seats_.end(), [](const auto& s) {
                return s.second.join.has_value();
            });
            if (all_joined) plan(now, out);
            return;
        }
        case Phase::kPlanned: {
            if (!may_voters_agree()) return resolve_disagreement(now, out);
            if (!is_ready_at_all_but_lost()) return hurry(now);
            round::judge_links(now, config_.rules, *plan_, times(), participation_.links());
            judge_hung_up(now, out);
            return propose(now, out);
        }
        case Phase::kProposed:
            return;
    }
}

// --- gather, call ------------------------------------------------------------

void Coordinator::gather(TimePoint now, Outbox& out) {
    ask_at_ = kNever;
    const bool has_state = own_.has_state() && own_.step() == voter_.head().step;
    const bool is_over = own_.step() >= config_.rules.last_step;
    if (!has_state || is_over || head_.is_paused() || !election_.has_majority_here()) {
        deadline_ = kNever;
        return;
    }
    if (retry_at_ != kNever && now < retry_at_) {
        deadline_ = retry_at_;
        return;
    }
    retry_at_ = kNever;
    if (own_.is_in_round()) return call(now, out);
    const bool is_new = step_ != own_.step() || !has_begun_;
    if (is_new) batch_.begin(own_.step());
    step_ = own_.step();
    has_begun_ = true;
    participation_.choose_turns(now, election_.term(), step_, is_new, out);
    if (!is_new && now < next_estimate_at_) return;
    next_estimate_at_ = now + kMinEstimatePause;
    // This peer has just begun to lead. Members get one failure timeout to link to it. Then it
    // calls if any of them was called by a predecessor or holds a batch without a coordinator.
    if (head_.may_be_held() && participation_.has_members(now)) {
        members_since_ = std::min(members_since_, now);
        const TimePoint begins_at = members_since_ + config_.rules.failure_timeout;
        if (now < begins_at && !participation_.are_expected_here(now)) {
            deadline_ = std::min(begins_at, now + kMaxEstimatePause);
            return;
        }
        if (participation_.has_frozen_members(now)) return call(now, out);
    }
    // Most trainers have frozen because they had lost their links to this peer: call them. What a
    // minority reports is not enough, because it may lie.
    frozen_since_ = participation_.are_most_frozen(now) ? std::min(frozen_since_, now) : kNever;
    if (frozen_since_ != kNever && now >= frozen_since_ + 2 * config_.rules.heartbeat) {
        return call(now, out);
    }
    const bool is_reached = batch_.estimate(now) >= config_.rules.target_batch;
    // With overlap the next batch is computed during the round, so stragglers cannot catch up while
    // the others compute it. They get twice the time instead.
    const Duration timeout =
        (config_.rules.overlaps ? 2 : 1) * std::max(expected_, config_.rules.heartbeat);
    const bool waits = is_reached && participation_.awaits_any(now, step_, timeout, out);
    if (is_reached && !waits) return call(now, out);
    const TimePoint reached_at = batch_.reached_at(now);
    if (reached_at != kNever) {
        next_estimate_at_ =
            now + std::clamp((reached_at - now) / kEstimates, kMinEstimatePause, kMaxEstimatePause);
    }
    deadline_ = std::max(reached_at, next_estimate_at_);
}

void Coordinator::call(TimePoint now, Outbox& out) {
    if (!can_voters_judge(now)) {
        deadline_ = now + kMaxEstimatePause;
        return;
    }
    reset();
    batch_.called(now);
    phase_ = Phase::kCalled;
    step_ = own_.step();
    // Attempts ascend within a term, so a term and an attempt name one plan.
    if (term_ != election_.term()) attempt_ = 0;
    term_ = election_.term();
    called_at_ = now;
    participation_.on_term(term_);
    seats_.try_emplace(self_, Seat{.join = {}, .endpoint = {"", links_.listening_port()}});
    for (const PeerKey& peer : participation_.called(now, step_)) {
        const membership::Known& known = *links_.find(peer);
        seats_.try_emplace(peer, Seat{.join = {}, .endpoint = known.endpoint, .user = known.user});
    }
    std::set<PeerKey> seated;
    for (const auto& [peer, seat] : seats_) seated.insert(peer);
    deadline_ = next_join_deadline();
    send_to(seated, wire::Call{term_}, out);
}

void Coordinator::cancel(TimePoint now, const std::string& why, Outbox& out) {
    out.note("the round of step " + std::to_string(step_.value()) + " is off: " + why);
    participation_.disturb();
    send_to(receivers(), wire::Cancel{term_}, out);
    reset();
    retry_at_ = now + config_.rules.heartbeat;
}

void Coordinator::send_to(const std::set<PeerKey>& peers, wire::Body body, Outbox& out) {
    out.send_to_all({peers.begin(), peers.end()}, step_, std::move(body));
}

// --- plan --------------------------------------------------------------------

void Coordinator::plan(TimePoint now, Outbox& out) {
    drop_overflow(now, out);
    if (!seats_.contains(self_)) return cancel(now, "the coordinator is left out", out);
    if (!can_voters_judge(now)) return cancel(now, "most voters have not joined", out);
    judge_.choose_reducers(seats_);
    correct_claims(config_.rules, self_, participation_.expected(), participation_.links(), judge_,
                   seats_);
    const auto probed = participation_.next_probe(seats_);
    const auto planned = make_plan(config_.rules, term_, ++attempt_, config_.scalars_of(step_),
                                   seats_, veterans_, probed);
    participation_.on_plan(planned && planned->is_probed);
    if (planned && planned->is_probed) {
        out.note("probing the link of " + probed->peer.brief());
        participation_.disturb();
    }
    if (!planned) return cancel(now, "no member has samples, or none can be dialled", out);
    Samples joined;
    for (const wire::PlanMember& member : planned->plan.members) {
        joined += member.samples;
        // A trainer whose gradient overflowed joins with 0 samples, but its reports were true.
        if (seats_.at(member.peer).join->is_finite) batch_.joined(member.peer, member.samples);
    }
    batch_.gathered(joined);
    phase_ = Phase::kPlanned;
    expected_ = planned->expected;
    publish(now, planned->plan, out);
}

void Coordinator::publish(TimePoint now, const wire::Plan& plan, Outbox& out) {
    const std::optional<wire::Plan> base = std::exchange(plan_, plan);
    attempt_ = plan.attempt;
    reduced_.clear();
    ready_.clear();
    ready_at_.clear();
    stalls_.clear();
    judge_at_ = kNever;
    published_at_ = now;
    plan_resent_at_.clear();
    send_plan(now, base, out);
}

bool Coordinator::is_reduced_by_all_but(const PeerKey& peer) const {
    return std::all_of(seats_.begin(), seats_.end(), [&](const auto& seat) {
        return seat.first == peer || reduced_.contains(seat.first) || !reduces(seat.first);
    });
}

/// A lost member's contribution stays in the sum if all reducers have it.
void Coordinator::amend(TimePoint now, Outbox& out) {
    is_amend_due_ = false;
    std::vector<PeerKey> absent;
    for (const wire::PlanMember& member : plan_->members) {
        const auto seat = seats_.find(member.peer);
        if (seat != seats_.end() && seat->second.is_lost) absent.push_back(member.peer);
    }
    if (gone_.empty() && is_ready_at_all_but_lost()) return;
    bool moves_chunks = !demoted_.empty() || std::ranges::any_of(gone_, [&](const PeerKey& peer) {
        return reduces(peer);
    });
    for (const PeerKey& peer : absent) {
        if (!reduces(peer) && is_reduced_by_all_but(peer)) continue;
        gone_.insert(peer);
        moves_chunks = moves_chunks || reduces(peer);
    }
    // Contributors must send a chunk again when it moves: lost members cannot, so they are out.
    if (moves_chunks) gone_.insert(absent.begin(), absent.end());
    if (gone_.empty() && demoted_.empty()) return;
    const auto amended = amend_plan(config_.rules, *plan_, seats_, gone_, demoted_, veterans_);
    if (!amended) return cancel(now, "too few members remain", out);
    for (const PeerKey& peer : gone_) seats_.erase(peer);
    if (!seats_.contains(self_)) return cancel(now, "the coordinator is left out", out);
    out.note("the round of step " + std::to_string(step_.value()) + " goes on without " +
             std::to_string(gone_.size()) + " members and " + std::to_string(demoted_.size()) +
             " reducers");
    publish(now, *amended, out);
    gone_.clear();
    demoted_.clear();
}

std::set<PeerKey> Coordinator::addressees() const {
    return plan_ ? told_directly(*plan_, receivers(), seats_, veterans_) : receivers();
}

std::set<PeerKey> Coordinator::receivers() const {
    std::set<PeerKey> all(voter_.head().voters.begin(), voter_.head().voters.end());
    if (record_) {
        for (const CommitLine& line : record_->members) all.insert(line.peer);
    }
    for (const auto& [peer, seat] : seats_) all.insert(peer);
    all.insert(gone_.begin(), gone_.end());
    return all;
}

void Coordinator::check_invariants() const {
    DEDLOC_CHECK(phase_ != Phase::kPlanned || plan_.has_value(), "a planned round has a plan");
    DEDLOC_CHECK(phase_ != Phase::kProposed || record_.has_value(), "a proposal is a record");
    DEDLOC_CHECK(phase_ == Phase::kGathering || phase_ == Phase::kProposed ||
                     !election_.is_leading() || seats_.contains(self_),
                 "the coordinator sits in its own round", step_.value());
}

}  // namespace dedloc::round
