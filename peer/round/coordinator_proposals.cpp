// The last phase of a round: the coordinator proposes the record of a round whose members are
// ready, counts votes, and proposes again what an earlier term may have decided.
//
// Voters    A round is not called, planned or proposed unless a majority of the voters can vote for
//           its average. If voters hold different averages, some reducer has sent different ones:
//           the round goes on with voters as its only reducers, and the other reducers reduce
//           nothing for a while. No message tells yet which of them it was.
#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "peer/base/check.hpp"
#include "peer/membership/quorum.hpp"
#include "peer/round/coordinator.hpp"

namespace dedloc::round {
namespace {

template <class Predicate>
bool is_majority_of(const std::vector<PeerKey>& voters, Predicate is_one) {
    std::vector<PeerKey> some;
    std::ranges::copy_if(voters, std::back_inserter(some), is_one);
    return membership::is_majority(voters, some);
}

}  // namespace

// --- what voters can vote for --------------------------------------------------

/// Holds the average that is here.
bool Coordinator::agrees(const PeerKey& voter) const {
    const auto own = ready_.find(self_);
    const auto ready = ready_.find(voter);
    return own != ready_.end() && ready != ready_.end() && ready->second == own->second;
}

bool Coordinator::do_voters_agree() const {
    return is_majority_of(voter_.head().voters,
                          [&](const PeerKey& voter) { return agrees(voter); });
}

/// False if too few voters are left that hold the average that is here, or may come to hold it.
bool Coordinator::may_voters_agree() const {
    const bool is_here = ready_.contains(self_);
    return is_majority_of(voter_.head().voters, [&](const PeerKey& voter) {
        if (agrees(voter)) return true;
        const auto seat = seats_.find(voter);
        if (seat == seats_.end() || !seat->second.join->receives) return false;
        return ready_.contains(voter) ? !is_here : !seat->second.is_lost;
    });
}

/// Whether a majority of the voters is called or, once a round is called, has joined.
bool Coordinator::can_voters_judge(TimePoint now) const {
    return is_majority_of(voter_.head().voters, [&](const PeerKey& voter) {
        if (phase_ == Phase::kCalled) {
            const auto seat = seats_.find(voter);
            return seat != seats_.end() && seat->second.join && seat->second.join->receives;
        }
        const membership::Known* known = links_.find(voter);
        return voter == self_ || (known != nullptr && known->receives &&
                                  participation_.is_called(now, step_, voter, *known));
    });
}

void Coordinator::resolve_disagreement(TimePoint now, Outbox& out) {
    if (is_amend_due_) return;
    const bool is_divided = std::ranges::any_of(voter_.head().voters, [&](const PeerKey& voter) {
        return ready_.contains(voter) && ready_.at(voter) != ready_.at(self_);
    });
    if (!is_divided) return cancel(now, "most voters are lost", out);
    for (const auto& [peer, seat] : seats_) {
        if (voter_.is_voter(peer) || !reduces(peer)) continue;
        demoted_.insert(peer);
        judge_.complaints().bar(judge_.account_of(peer));
    }
    if (demoted_.empty()) return cancel(now, "voters hold different averages", out);
    out.note("voters hold different averages: the round of step " + std::to_string(step_.value()) +
             " goes on with voters as reducers");
    is_amend_due_ = true;
    participation_.disturb(1);
}

// --- proposals -----------------------------------------------------------------

void Coordinator::propose(TimePoint now, Outbox& out) {
    proposed_at_ = now;
    proposal_ = {.term = term_,
                 .attempt = attempt_,
                 .digest = {},
                 .average = ready_.at(self_),
                 .previous_state = own_.digest(),
                 .record = {}};
    for (const wire::PlanMember& member : plan_->members) {
        const auto ready = ready_.find(member.peer);
        if (ready == ready_.end() || !member.receives) continue;
        if (ready->second == proposal_.average) continue;
        out.note(member.peer.brief() + " holds a different average and must fetch the state");
    }
    record_ = record_of(*plan_, proposal_.average, proposal_.previous_state, voter_.head());
    proposal_.digest = digest_of(*record_);
    phase_ = Phase::kProposed;
    deadline_ = judge_at_ = kNever;
    out.send_to_all(voter_.head().voters, step_, proposal_);
}

void Coordinator::propose_again(TimePoint now, const CommitRecord& record, Outbox& out) {
    reset();
    phase_ = Phase::kProposed;
    step_ = voter_.head().step;
    term_ = election_.term();
    record_ = record;
    proposed_at_ = now;
    proposal_ = {.term = term_,
                 .attempt = 0,
                 .digest = digest_of(record),
                 .average = record.average,
                 .previous_state = record.previous_state,
                 .record = record};
    out.note("proposing again the record accepted for step " + std::to_string(step_.value()));
    out.send_to_all(voter_.head().voters, step_, proposal_);
}

/// Proposes again to voters that have not voted: they may have caught up or repaired their state.
/// Voters that were restarted have lost the average. So a proposal that stays without a majority is
/// given up: the next coordinator proposes it again as one of an earlier term, or plans another
/// round if a majority of the voters has not accepted it.
void Coordinator::ask_again(TimePoint now, Outbox& out) {
    ask_at_ = now + config_.rules.election_pause;
    if (election_.has_majority_here() && now >= proposed_at_ + 2 * config_.rules.failure_timeout) {
        if (election_.inherited() && !votes_.contains(self_))
            return election_.doubt_inherited(now, out);
        return election_.step_down(out, "a proposal has too few votes");
    }
    std::set<PeerKey> silent;
    for (const PeerKey& peer : voter_.head().voters) {
        if (!votes_.contains(peer)) silent.insert(peer);
    }
    send_to(silent, whole_proposal(), out);
}

std::optional<Decision> Coordinator::on_accept(const PeerKey& from, StepIndex step,
                                               const wire::Accept& accept) {
    if (!is_about_us(step, accept.term) || phase_ != Phase::kProposed) return {};
    if (accept.digest != proposal_.digest || !voter_.is_voter(from)) return {};
    const auto bytes = vote_bytes(config_.run, term_, proposal_.digest);
    if (votes_.contains(from) || !verify(from, bytes, accept.signature)) return {};
    votes_.emplace(from, accept.signature);
    std::vector<PeerKey> voters;
    Certificate certificate{.term = term_, .votes = {}};
    for (const auto& [voter, signature] : votes_) {
        voters.push_back(voter);
        certificate.votes.push_back({.voter = voter, .signature = signature});
    }
    if (!membership::is_majority(voter_.head().voters, voters)) return {};
    judge_.on_decision(*record_);
    return Decision{.record = *record_, .certificate = std::move(certificate)};
}

/// Members have the plan, from which they make the record themselves. A record that is proposed
/// again from an earlier term has no plan here, so its Commit contains it.
wire::Commit Coordinator::commit_of(const Decision& decision) const {
    wire::Commit commit = wire::full_commit(decision);
    if (plan_) {
        commit.attempt = proposal_.attempt;
        commit.record.reset();
    }
    return commit;
}

/// The proposal with its record, for voters that may not know the plan.
wire::Propose Coordinator::whole_proposal() const {
    wire::Propose whole = proposal_;
    whole.record = record_;
    return whole;
}

}  // namespace dedloc::round
