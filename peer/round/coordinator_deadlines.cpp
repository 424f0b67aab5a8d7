// How long a planned round waits, and for which members.
//
// Ready     The round is proposed once the average is here and at all members that are awaited. The
//           last receivers do not keep the others waiting: they fetch the average, or finish it, as
//           members that miss a Commit do.
// Outside   Trainers that were cut off when the round was called come back and wait for the next
//           one. If there are as many of them as last receivers, these get two minutes.
// Lost      A member whose link is lost in three rounds that follow each other closely is excluded.
// Late      A receiver that is late again and again is charged (complaints.hpp). If the average is
//           not here by the deadline, the members whose chunks are missing here are excluded,
//           whatever others report.
#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "peer/round/claims.hpp"
#include "peer/round/coordinator.hpp"

namespace dedloc::round {
namespace {

/// Least time that the last receivers get after the others.
constexpr Duration kGrace = std::chrono::seconds{2};

}  // namespace

/// A member that is doubted, or slow by its own claim, may never say that it is ready. Its
/// contribution is in the averages of the others.
bool Coordinator::is_awaited(const PlannedRound& round, const PeerKey& peer,
                             const Callee& callee) const {
    if (callee.is_lost || callee.is_slow) return false;
    return !judge_.is_doubted(peer) || round.reduces(peer);
}

/// True once the member of this peer, whose average is proposed, most voters and all awaited
/// members are ready.
bool Coordinator::is_ready_at_all_but_lost(const PlannedRound& round) const {
    const auto is_settled = [&](const auto& entry) {
        return round.attempt.ready.contains(entry.first) ||
               !is_awaited(round, entry.first, entry.second);
    };
    return round.do_voters_agree(self_, voter_.head()) &&
           std::ranges::all_of(round.callees, is_settled);
}

/// Once most voters and three quarters of the receivers have the average, the others get half as
/// long again, and at least half as long again as the planner expects, if it knows any link. Before
/// that, if as many peers wait outside the round as receivers lack the average, what the planner
/// expects does not count: it may follow from the claim of a receiver.
void Coordinator::hurry(TimePoint now, PlannedRound& round) {
    if (expected_ == Duration{} || !round.delivery.untold.empty()) return;
    if (!round.do_voters_agree(self_, voter_.head())) return;
    std::size_t receivers = 0;
    std::size_t ready = 0;
    for (const auto& [peer, callee] : round.callees) {
        if (callee.is_lost || !callee.join->receives) continue;
        ++receivers;
        ready += round.attempt.ready.contains(peer) ? 1 : 0;
    }
    if (4 * ready < 3 * receivers) {
        const TimePoint given = std::max(published_at_ + kNeverSlow, now + kGrace);
        if (given >= round.deadline) return;
        const std::size_t outside = participation_.count_outside(now, step_, round.callees);
        if (receivers - ready <= outside) round.deadline = given;
        return;
    }
    const Duration taken = std::max(now - published_at_, expected_);
    const TimePoint last = published_at_ + taken + std::max(kGrace, taken / 2);
    round.deadline = std::min(round.deadline, std::max(last, now + kGrace));
}

/// All awaited members are ready. A member whose link was lost for the third time in a short while
/// is excluded, unless its contribution is in the average or the links of most members were lost:
/// then the link that fails is ours. Each key counts by itself, since of many devices of one user
/// some are always switched off.
void Coordinator::judge_hung_up(TimePoint now, PlannedRound& round, Outbox& out) {
    const bool is_ours = round.hung_up.size() >= round.callees.size();
    for (const HungUp& lost : std::exchange(round.hung_up, {})) {
        const bool is_in = wire::index_of(round.plan, lost.peer) < round.plan.members.size();
        if (is_ours || is_in) continue;
        const auto sum =
            judge_.complaints().on_late(Exclusions::account_of(lost.peer, 0), lost.waited);
        if (sum) {
            judge_.exclude(now, lost.peer, lost.account, "hangs up during rounds again and again",
                           out, delay(round, *sum));
        }
    }
}

void Coordinator::time_out(TimePoint now, PlannedRound& round, Outbox& out) {
    if (round.attempt.ready.contains(self_)) {
        for (auto& [peer, callee] : round.callees) {
            if (round.attempt.ready.contains(peer) || !is_awaited(round, peer, callee)) continue;
            out.note(peer.brief() + " is late: not waited for");
            participation_.disturb(1);
            if (judge_.complaints().on_late(judge_.account_of(peer))) {
                out.accuse(peer, peer.brief() + " is late again and again");
                hearing(now, round, out).charge(peer, Complaints::kBelieved);
            }
            callee.is_lost = round.is_amend_due = true;
        }
    } else {
        // Others may have finished it, or say so. What counts is what is missing here. If that is
        // most of the round, the link that fails is ours. If contributions are missing, they are
        // the reason why averages are; a reducer that has not averaged its part misses others too.
        auto [late, reducers] = own_.missing();
        const std::size_t all = late.empty() ? reducers.size() : late.size();
        const bool is_ours = 2 * all >= round.callees.size() || expected_ == Duration{};
        if (late.empty()) {
            std::erase_if(reducers, [&](const PeerKey& peer) {
                return !round.attempt.reduced.contains(peer);
            });
            late = std::move(reducers);
        }
        if (late.empty() || is_ours) return cancel(now, "it was not finished here in time", out);
        participation_.disturb(late.size());
        for (const PeerKey& peer : late)
            hearing(now, round, out).drop(peer, "has not sent in time");
        round.is_amend_due = true;
    }
    round.deadline = now + config_.rules.round_timeout;
}

}  // namespace dedloc::round
