// When a round begins. While peers gather, the coordinator estimates the samples that they have
// computed; once they reach the target batch, or if most trainers wait with their contributions, it
// calls the peers that may take part.
#include <algorithm>
#include <chrono>

#include "peer/round/coordinator.hpp"

namespace dedloc::round {
namespace {

/// Bounds of the interval between two estimates of the batch; it shrinks as the target comes near.
constexpr Duration kMinEstimatePause = std::chrono::milliseconds{10};
constexpr Duration kMaxEstimatePause = std::chrono::milliseconds{100};
constexpr int kEstimates = 16;  ///< the interval is this fraction of the time to the target

}  // namespace

void Coordinator::gather(TimePoint now, Gathering& gathering, Outbox& out) {
    const bool has_state = own_.has_state() && own_.step() == voter_.head().step;
    const bool is_over = own_.step() >= config_.rules.last_step;
    if (!has_state || is_over || head_.is_paused() || !election_.has_majority_here()) {
        gathering.deadline = kNever;
        return;
    }
    if (retry_at_ != kNever && now < retry_at_) {
        gathering.deadline = retry_at_;
        return;
    }
    retry_at_ = kNever;
    if (own_.is_in_round()) return call(now, gathering, out);
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
        gathering.members_since = std::min(gathering.members_since, now);
        const TimePoint begins_at = gathering.members_since + config_.rules.failure_timeout;
        if (now < begins_at && !participation_.are_expected_here(now)) {
            gathering.deadline = std::min(begins_at, now + kMaxEstimatePause);
            return;
        }
        if (participation_.has_frozen_members(now)) return call(now, gathering, out);
    }
    // Most trainers have frozen because they had lost their links to this peer: call them. What a
    // minority reports is not enough, because it may lie.
    gathering.frozen_since =
        participation_.are_most_frozen(now) ? std::min(gathering.frozen_since, now) : kNever;
    const bool are_frozen = gathering.frozen_since != kNever;
    if (are_frozen && now >= gathering.frozen_since + 2 * config_.rules.heartbeat) {
        return call(now, gathering, out);
    }
    const bool is_reached = batch_.estimate(now) >= config_.rules.target_batch;
    // Overlapping trainers compute the next batch during the round, so stragglers cannot catch up
    // meanwhile. They get twice the time instead.
    const Duration timeout =
        (config_.rules.overlaps ? 2 : 1) * std::max(expected_, config_.rules.heartbeat);
    const bool waits = is_reached && participation_.awaits_any(now, step_, timeout, out);
    if (is_reached && !waits) return call(now, gathering, out);
    const TimePoint reached_at = batch_.reached_at(now);
    if (reached_at != kNever) {
        next_estimate_at_ =
            now + std::clamp((reached_at - now) / kEstimates, kMinEstimatePause, kMaxEstimatePause);
    }
    gathering.deadline = std::max(reached_at, next_estimate_at_);
}

/// Whether a majority of the voters would be called.
bool Coordinator::could_voters_judge(TimePoint now) const {
    return is_majority_of(voter_.head().voters, [&](const PeerKey& voter) {
        const membership::Known* known = links_.find(voter);
        return voter == self_ || (known != nullptr && known->receives &&
                                  participation_.is_called(now, step_, voter, *known));
    });
}

void Coordinator::call(TimePoint now, Gathering& gathering, Outbox& out) {
    if (!could_voters_judge(now)) {
        gathering.deadline = now + kMaxEstimatePause;
        return;
    }
    batch_.called(now);
    step_ = own_.step();
    if (term_ != election_.term()) attempt_ = 0;
    term_ = election_.term();
    participation_.on_term(term_);
    CalledRound round{.called_at = now};
    round.callees.try_emplace(self_, Callee{.join = {}, .endpoint = {"", links_.listening_port()}});
    for (const PeerKey& peer : participation_.peers_to_call(now, step_)) {
        const membership::Known& known = *links_.find(peer);
        round.callees.try_emplace(
            peer, Callee{.join = {}, .endpoint = known.endpoint, .user = known.user});
    }
    std::set<PeerKey> called;
    for (const auto& [peer, callee] : round.callees) called.insert(peer);
    round.deadline = next_join_deadline(round);
    phase_ = std::move(round);
    send_to(called, wire::Call{term_}, out);
}

TimePoint Coordinator::next_join_deadline(const CalledRound& round) const {
    TimePoint next = kNever;
    for (const auto& [peer, callee] : round.callees) {
        if (callee.join) continue;
        next = std::min(next, round.called_at + participation_.join_limit(peer, round.called_at));
    }
    return next;
}

/// Some members have not joined in time: the round goes on without them, and waits for the others.
void Coordinator::join_overdue(TimePoint now, CalledRound& round, Outbox& out) {
    std::vector<PeerKey> overdue;
    for (const auto& [peer, callee] : round.callees) {
        const Duration limit = participation_.join_limit(peer, round.called_at);
        if (!callee.join && now >= round.called_at + limit) overdue.push_back(peer);
    }
    for (const PeerKey& peer : overdue) {
        round.callees.erase(peer);
        participation_.disturb(1);
        if (peer == self_) return cancel(now, "the coordinator has not joined in time", out);
        participation_.leave_waiting(now, step_, peer, now - round.called_at,
                                     "was called and has not joined in time", round.callees.size(),
                                     out);
    }
    round.deadline = next_join_deadline(round);
    if (round.deadline == kNever) plan(now, round, out);
}

}  // namespace dedloc::round
