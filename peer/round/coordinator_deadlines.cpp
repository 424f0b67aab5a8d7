// How long a round waits, and for which members.
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
#include <vector>

#include "peer/round/claims.hpp"
#include "peer/round/coordinator.hpp"

namespace dedloc::round {
namespace {

/// Least time that the last receivers get after the others.
constexpr Duration kGrace = std::chrono::seconds{2};

}  // namespace

/// A member that is doubted, or slow by its own claim, may never say that it is ready. Its
/// contribution is in the averages of the others.
bool Coordinator::is_awaited(const PeerKey& peer, const Seat& seat) const {
    if (seat.is_lost || seat.is_slow) return false;
    return !judge_.is_doubted(peer) || reduces(peer);
}

/// True once the member of this peer, whose average is proposed, most voters and all awaited
/// members are ready.
bool Coordinator::is_ready_at_all_but_lost() const {
    return do_voters_agree() && std::ranges::all_of(seats_, [&](const auto& entry) {
               return ready_.contains(entry.first) || !is_awaited(entry.first, entry.second);
           });
}

/// Once most voters and three quarters of the receivers have the average, the others get half as
/// long again, and at least half as long again as the planner expects, if it knows any link. Before
/// that, if as many peers wait outside the round as receivers lack the average, what the planner
/// expects does not count: it may follow from the claim of a receiver.
void Coordinator::hurry(TimePoint now) {
    if (expected_ == Duration{} || !untold_.empty() || !do_voters_agree()) return;
    std::size_t receivers = 0;
    std::size_t ready = 0;
    for (const auto& [peer, seat] : seats_) {
        if (seat.is_lost || !seat.join->receives) continue;
        ++receivers;
        ready += ready_.contains(peer) ? 1 : 0;
    }
    if (4 * ready < 3 * receivers) {
        const TimePoint given = std::max(published_at_ + kNeverSlow, now + kGrace);
        if (given < deadline_ &&
            receivers - ready <= participation_.count_outside(now, step_, seats_))
            deadline_ = given;
        return;
    }
    const Duration taken = std::max(now - published_at_, expected_);
    const TimePoint last = published_at_ + taken + std::max(kGrace, taken / 2);
    deadline_ = std::min(deadline_, std::max(last, now + kGrace));
}

/// All awaited members are ready. A member whose link was lost for the third time in a short while
/// is excluded, unless its contribution is in the average or the links of most members were lost:
/// then the link that fails is ours. Each key counts by itself, since of many devices of one user
/// some are always switched off.
void Coordinator::judge_hung_up(TimePoint now, Outbox& out) {
    const bool is_ours = hung_up_.size() >= seats_.size();
    for (const HungUp& lost : std::exchange(hung_up_, {})) {
        if (is_ours || wire::index_of(*plan_, lost.peer) < plan_->members.size()) continue;
        const auto sum =
            judge_.complaints().on_late(Exclusions::account_of(lost.peer, 0), lost.waited);
        if (sum) {
            judge_.exclude(now, lost.peer, lost.account, "hangs up during rounds again and again",
                           out, delay(*sum));
        }
    }
}

TimePoint Coordinator::next_join_deadline() const {
    TimePoint next = kNever;
    for (const auto& [peer, seat] : seats_) {
        if (seat.join) continue;
        next = std::min(next, called_at_ + participation_.join_limit(peer, called_at_));
    }
    return next;
}

/// Some members have not joined in time: the round goes on without them, and waits for the others.
void Coordinator::join_overdue(TimePoint now, Outbox& out) {
    std::vector<PeerKey> overdue;
    for (const auto& [peer, seat] : seats_) {
        const TimePoint limit = called_at_ + participation_.join_limit(peer, called_at_);
        if (!seat.join && now >= limit) overdue.push_back(peer);
    }
    for (const PeerKey& peer : overdue) {
        seats_.erase(peer);
        participation_.disturb(1);
        if (peer == self_) return cancel(now, "the coordinator has not joined in time", out);
        participation_.leave_waiting(now, step_, peer, now - called_at_,
                                     "was called and has not joined in time", seats_.size(), out);
    }
    deadline_ = next_join_deadline();
    if (deadline_ == kNever) plan(now, out);
}

void Coordinator::time_out(TimePoint now, Outbox& out) {
    deadline_ = kNever;
    if (phase_ == Phase::kCalled) return join_overdue(now, out);
    if (phase_ != Phase::kPlanned) return;
    if (ready_.contains(self_)) {
        for (auto& [peer, seat] : seats_) {
            if (ready_.contains(peer) || !is_awaited(peer, seat)) continue;
            out.note(peer.brief() + " is late: not waited for");
            participation_.disturb(1);
            if (judge_.complaints().on_late(judge_.account_of(peer))) {
                out.accuse(peer, peer.brief() + " is late again and again");
                hearing(now, out).charge(peer, Complaints::kBelieved);
            }
            seat.is_lost = is_amend_due_ = true;
        }
    } else {
        // Others may have finished it, or say so. What counts is what is missing here. If that is
        // most of the round, the link that fails is ours. If contributions are missing, they are
        // the reason why averages are; a reducer that has not averaged its part misses others too.
        auto [late, reducers] = own_.missing();
        const std::size_t all = late.empty() ? reducers.size() : late.size();
        const bool is_ours = 2 * all >= seats_.size() || expected_ == Duration{};
        if (late.empty()) {
            std::erase_if(reducers, [&](const PeerKey& peer) { return !reduced_.contains(peer); });
            late = std::move(reducers);
        }
        if (late.empty() || is_ours) return cancel(now, "it was not finished here in time", out);
        participation_.disturb(late.size());
        for (const PeerKey& peer : late) hearing(now, out).drop(peer, "has not sent in time");
        is_amend_due_ = true;
    }
    deadline_ = now + config_.rules.round_timeout;
}

}  // namespace dedloc::round
