// What peers report before and during a round: samples, Joins, and complaints about members that do
// not send.
//
// Pieces      When a reducer refuses a sender's pieces, the sender leaves the round at once, and
//             the complaint is charged to the reducer.
// Stalls      Complaints are collected for kHearing, then judged together (hearing.hpp).
#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "peer/round/claims.hpp"
#include "peer/round/coordinator.hpp"

namespace dedloc::round {

void Coordinator::on_report(TimePoint now, const PeerKey& from, StepIndex step, Samples samples,
                            double samples_per_second) {
    if (judge_.is_out(now, from)) return;
    Participation::Report report{.samples = samples, .samples_per_second = samples_per_second};
    if (const membership::Known* known = links_.find(from)) {
        const auto accepted = participation_.accepted(now, step, from, *known, report);
        if (!accepted) return batch_.forget(from);
        report = *accepted;
    }
    batch_.report(from, now, step, report.samples, report.samples_per_second);
}

void Coordinator::on_join(TimePoint now, const PeerKey& from, StepIndex step,
                          const wire::Join& join, Outbox& out) {
    const auto seat = seats_.find(from);
    if (!is_about_us(step, join.term) || phase_ != Phase::kCalled || seat == seats_.end()) return;
    const membership::Known* known = links_.find(from);
    const Samples allowance = known != nullptr ? participation_.allowance(now, from, *known)
                                               : Samples{std::numeric_limits<std::uint64_t>::max()};
    if (const auto fault = fault_of(join, config_.rules.codec, allowance)) {
        judge_.exclude(now, from, *fault, out);
        seats_.erase(seat);
        return;
    }
    if (join.receives && join.state != own_.digest()) {
        out.accuse(from, from.brief() + " joined with a different state: left out");
        seats_.erase(seat);
        return;
    }
    if (!join.is_finite) out.note(from.brief() + " joined with a gradient that is not finite");
    seat->second.join = join;
    participation_.on_join(now, from, step, called_at_, join.samples);
}

void Coordinator::drop_overflow(TimePoint now, Outbox& out) {
    while (const PeerKey* const peer = largest_overflow(seats_)) {
        judge_.exclude(now, *peer, "claims more samples than a round can hold", out);
        seats_.erase(*peer);
    }
}

// --- complaints ------------------------------------------------------------------

void Coordinator::on_complaint(TimePoint now, const PeerKey& from, StepIndex step,
                               const wire::Stalled& stalled, Outbox& out) {
    if (!is_about_us(step, stalled.term) || phase_ != Phase::kPlanned) return;
    if (stalled.attempt != attempt_ || !seats_.contains(from)) return;
    if (judge_.is_doubted(from)) return;
    const bool misses_some = !stalled.senders.empty() || !stalled.reducers.empty();
    if (misses_some && now >= heed_at_) {
        stalls_[from] = stalled;
        judge_at_ = std::min(judge_at_, now + kHearing);
    }
    if (!reduces(from) && from != self_) return;
    for (const std::uint32_t k : stalled.refused) {
        if (k >= plan_->members.size()) continue;
        const PeerKey& sender = plan_->members[k].peer;
        const auto seat = seats_.find(sender);
        if (seat == seats_.end() || sender == self_ || gone_.contains(sender)) continue;
        if (judge_.is_doubted(from)) return;
        judge_.exclude(now, sender, "has sent " + from.brief() + " pieces that cannot be averaged",
                       out, delay(now - published_at_));
        hearing(now, out).charge(from);
        seat->second.is_lost = true;
        gone_.insert(sender);
        is_amend_due_ = true;
    }
}

Delay Coordinator::delay(Duration time) const {
    return {.time = time, .members = participation_.count_waiting(seats_.size())};
}

Hearing Coordinator::hearing(TimePoint now, Outbox& out) {
    return {{.self = self_, .links = links_, .voter = voter_, .own = own_, .judge = judge_},
            {.now = now,
             .plan = *plan_,
             .delay = delay(now - published_at_),
             .is_link_known = expected_ != Duration{},
             .seats = seats_,
             .demoted = demoted_},
            out};
}

void Coordinator::judge_stalls(TimePoint now, Outbox& out) {
    judge_at_ = kNever;
    const bool can_go_on = hearing(now, out).judge(stalls_);
    if (!can_go_on) return cancel(now, "most members are slower than planned", out);
    stalls_.clear();
    is_amend_due_ = true;
}

/// What this peer has seen of the planned round.
RoundTimes Coordinator::times() const {
    RoundTimes times{.published_at = published_at_, .expected = expected_, .ready = ready_at_};
    const auto note = [&](std::map<PeerKey, TimePoint>& at, const PeerKey& peer,
                          std::optional<TimePoint> time) {
        if (time && *time > published_at_) at.emplace(peer, *time);
    };
    for (const auto& [peer, seat] : seats_) {
        note(times.contributed, peer, own_.heard_contribution(peer));
        note(times.averaged, peer, own_.heard_average(peer));
    }
    return times;
}

}  // namespace dedloc::round
