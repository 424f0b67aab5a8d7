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
        const auto counted = participation_.bound(now, step, from, *known, report);
        if (!counted) return batch_.forget(from);
        report = *counted;
    }
    batch_.report(from, now, step, report.samples, report.samples_per_second);
}

void Coordinator::on_join(TimePoint now, const PeerKey& from, StepIndex step,
                          const wire::Join& join, Outbox& out) {
    auto* const round = in<CalledRound>();
    if (!is_about_us(step, join.term) || round == nullptr) return;
    const auto callee = round->callees.find(from);
    if (callee == round->callees.end()) return;
    const membership::Known* known = links_.find(from);
    const Samples allowance = known != nullptr ? participation_.allowance(now, from, *known)
                                               : Samples{std::numeric_limits<std::uint64_t>::max()};
    if (const auto fault = fault_of(join, config_.rules.codec, allowance)) {
        judge_.exclude(now, from, *fault, out);
        round->callees.erase(callee);
        return;
    }
    if (join.receives && join.state != own_.digest()) {
        out.accuse(from, from.brief() + " joined with a different state: left out");
        round->callees.erase(callee);
        return;
    }
    if (!join.is_finite) out.note(from.brief() + " joined with a gradient that is not finite");
    const bool is_believed =
        participation_.on_join(now, from, step, round->called_at, join.samples);
    if (!is_believed && !judge_.is_trusted(from)) {
        judge_.exclude(now, from, "says again and again that it holds samples, and joins without",
                       out);
        round->callees.erase(callee);
        return;
    }
    callee->second.join = join;
}

void Coordinator::drop_overflow(TimePoint now, Callees& callees, Outbox& out) {
    while (const PeerKey* const largest = largest_overflow(callees)) {
        const PeerKey peer = *largest;
        judge_.exclude(now, peer, "claims more samples than a round can hold", out);
        callees.erase(peer);
    }
}

/// Members that have drawn their samples from another mixture than the one that this peer knows for
/// the step. One of both has missed a change; heartbeats bring it, and both meet in the next round.
void Coordinator::drop_other_mixtures(Callees& callees, Outbox& out) const {
    const std::optional<Digest> mixture = own_.mixtures().at(step_);
    std::erase_if(callees, [&](const auto& entry) {
        const auto& join = entry.second.join;
        const bool is_other = join && join->samples > Samples{0} && join->mixture != mixture;
        if (is_other) {
            out.note(entry.first.brief() +
                     " has drawn its samples from another mixture: left out of this round");
        }
        return is_other;
    });
}

// --- complaints ------------------------------------------------------------------

void Coordinator::on_complaint(TimePoint now, const PeerKey& from, StepIndex step,
                               const wire::Stalled& stalled, Outbox& out) {
    auto* const round = in<PlannedRound>();
    if (!is_about_us(step, stalled.term) || round == nullptr) return;
    if (stalled.attempt != attempt_ || !round->callees.contains(from)) return;
    if (judge_.is_doubted(from)) return;
    const bool misses_some = !stalled.senders.empty() || !stalled.reducers.empty();
    if (misses_some && now < round->delivery.honest_at && !judge_.is_trusted(from)) {
        judge_.charge(from, Complaints::kBelieved);
        return out.accuse(from, from.brief() +
                                    " complains before any member can be late: its "
                                    "complaints are not heard");
    }
    if (misses_some && now >= round->delivery.heed_at) {
        round->attempt.stalls[from] = stalled;
        round->attempt.judge_at = std::min(round->attempt.judge_at, now + kHearing);
    }
    if (!round->reduces(from) && from != self_) return;
    const wire::Plan& plan = round->plan;
    for (const std::uint32_t k : stalled.refused) {
        if (k >= plan.members.size()) continue;
        const PeerKey& sender = plan.members[k].peer;
        const auto callee = round->callees.find(sender);
        const bool is_left = callee == round->callees.end() || round->gone.contains(sender);
        if (is_left || sender == self_) continue;
        if (judge_.is_doubted(from)) return;
        judge_.exclude(now, sender, "has sent " + from.brief() + " pieces that cannot be averaged",
                       out, delay(*round, now - published_at_));
        hearing(now, *round, out).charge(from);
        callee->second.is_lost = true;
        round->gone.insert(sender);
        round->is_amend_due = true;
    }
}

Delay Coordinator::delay(const PlannedRound& round, Duration time) const {
    return {.time = time, .members = participation_.count_waiting(round.callees.size())};
}

Hearing Coordinator::hearing(TimePoint now, PlannedRound& round, Outbox& out) {
    return {{.self = self_, .links = links_, .voter = voter_, .own = own_, .judge = judge_},
            {.now = now,
             .plan = round.plan,
             .delay = delay(round, now - published_at_),
             .is_link_known = expected_ != Duration{},
             .callees = round.callees,
             .demoted = round.demoted},
            out};
}

void Coordinator::judge_stalls(TimePoint now, PlannedRound& round, Outbox& out) {
    round.attempt.judge_at = kNever;
    const bool can_go_on = hearing(now, round, out).judge(round.attempt.stalls);
    if (!can_go_on) return cancel(now, "most members are slower than planned", out);
    round.attempt.stalls.clear();
    round.is_amend_due = true;
}

/// What this peer has seen of the planned round.
RoundTimes Coordinator::times(const PlannedRound& round) const {
    RoundTimes times{
        .published_at = published_at_, .expected = expected_, .ready = round.attempt.ready_at};
    const auto note = [&](std::map<PeerKey, TimePoint>& at, const PeerKey& peer,
                          std::optional<TimePoint> time) {
        if (time && *time > published_at_) at.emplace(peer, *time);
    };
    for (const auto& [peer, callee] : round.callees) {
        note(times.contributed, peer, own_.heard_contribution(peer));
        note(times.averaged, peer, own_.heard_average(peer));
    }
    return times;
}

}  // namespace dedloc::round
