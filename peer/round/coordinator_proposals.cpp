// The last phase of a round: the coordinator proposes the record of a round whose members are
// ready, counts votes, and proposes again what an earlier term may have decided.
//
// Voters    A round is not called, planned or proposed unless a majority of the voters can vote for
//           its average. If voters hold different averages, some reducer has sent different ones:
//           the round goes on with voters as its only reducers, and the other reducers reduce
//           nothing for a while. No message tells yet which of them it was.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "peer/membership/quorum.hpp"
#include "peer/round/coordinator.hpp"

namespace dedloc::round {

void Coordinator::resolve_disagreement(TimePoint now, PlannedRound& round, Outbox& out) {
    if (round.is_amend_due) return;
    const auto& ready = round.attempt.ready;
    const bool is_divided = std::ranges::any_of(voter_.head().voters, [&](const PeerKey& voter) {
        return ready.contains(voter) && ready.at(voter) != ready.at(self_);
    });
    if (!is_divided) return cancel(now, "most voters are lost", out);
    for (const auto& [peer, callee] : round.callees) {
        if (voter_.is_voter(peer) || !round.reduces(peer)) continue;
        round.demoted.insert(peer);
        judge_.complaints().bar(judge_.account_of(peer));
    }
    if (round.demoted.empty()) return cancel(now, "voters hold different averages", out);
    out.note("voters hold different averages: the round of step " + std::to_string(step_.value()) +
             " goes on with voters as reducers");
    round.is_amend_due = true;
    participation_.disturb(1);
}

/// Whether all averages that this member can have come from the project's seats or from itself, so
/// that none can differ from ours. In an amended round a contributor may have made them differ.
bool Coordinator::has_trusted_reducers(const PlannedRound& round, const PeerKey& peer) const {
    if (round.is_amended || judge_.is_trusted(peer)) return false;
    return std::ranges::all_of(round.plan.members, [&](const wire::PlanMember& member) {
        return member.peer == peer || judge_.is_trusted(member.peer) || !round.reduces(member.peer);
    });
}

void Coordinator::propose(TimePoint now, PlannedRound& round, Outbox& out) {
    const auto& ready = round.attempt.ready;
    const Digest average = ready.at(self_);
    for (const wire::PlanMember& member : round.plan.members) {
        const auto other = ready.find(member.peer);
        if (other == ready.end() || !member.receives || other->second == average) continue;
        const std::string line =
            member.peer.brief() + " holds a different average and must fetch the state";
        const bool is_false = has_trusted_reducers(round, member.peer);
        is_false ? out.accuse(member.peer, line) : out.note(line);
    }
    CommitRecord record = record_of(round.plan, average, own_.digest(), voter_.head());
    const wire::Propose proposal{.term = term_,
                                 .attempt = attempt_,
                                 .digest = digest_of(record),
                                 .average = average,
                                 .previous_state = own_.digest(),
                                 .record = {}};
    phase_ = ProposedRound{.proposal = proposal,
                           .record = std::move(record),
                           .proposed_at = now,
                           .plan = std::move(round.plan),
                           .callees = std::move(round.callees)};
    out.send_to_all(voter_.head().voters, step_, proposal);
}

void Coordinator::propose_again(TimePoint now, const CommitRecord& record, Outbox& out) {
    end_round();
    step_ = voter_.head().step;
    term_ = election_.term();
    const wire::Propose proposal{.term = term_,
                                 .attempt = 0,
                                 .digest = digest_of(record),
                                 .average = record.average,
                                 .previous_state = record.previous_state,
                                 .record = record};
    phase_ = ProposedRound{.proposal = proposal, .record = record, .proposed_at = now};
    out.note("proposing again the record accepted for step " + std::to_string(step_.value()));
    out.send_to_all(voter_.head().voters, step_, proposal);
}

/// Proposes again to voters that have not voted: they may have caught up or repaired their state.
/// Voters that were restarted have lost the average. So a proposal that stays without a majority is
/// given up: the next coordinator proposes it again as one of an earlier term, or plans another
/// round if a majority of the voters has not accepted it.
void Coordinator::ask_again(TimePoint now, ProposedRound& round, Outbox& out) {
    round.ask_at = now + config_.rules.election_pause;
    const TimePoint given_up_at = round.proposed_at + 2 * config_.rules.failure_timeout;
    if (election_.has_majority_here() && now >= given_up_at) {
        if (election_.inherited() && !round.votes.contains(self_))
            return election_.doubt_inherited(now, out);
        return election_.step_down(out, "a proposal has too few votes");
    }
    std::set<PeerKey> silent;
    for (const PeerKey& peer : voter_.head().voters) {
        if (!round.votes.contains(peer)) silent.insert(peer);
    }
    send_to(silent, round.whole(), out);
}

std::optional<Decision> Coordinator::on_accept(const PeerKey& from, StepIndex step,
                                               const wire::Accept& accept) {
    auto* const round = in<ProposedRound>();
    if (!is_about_us(step, accept.term) || round == nullptr) return {};
    const Digest& digest = round->proposal.digest;
    if (accept.digest != digest || !voter_.is_voter(from)) return {};
    const auto bytes = vote_bytes(config_.run, term_, digest);
    if (round->votes.contains(from) || !verify(from, bytes, accept.signature)) return {};
    round->votes.emplace(from, accept.signature);
    std::vector<PeerKey> voters;
    Certificate certificate{.term = term_, .votes = {}};
    for (const auto& [voter, signature] : round->votes) {
        voters.push_back(voter);
        certificate.votes.push_back({.voter = voter, .signature = signature});
    }
    if (!membership::is_majority(voter_.head().voters, voters)) return {};
    judge_.on_decision(round->record);
    return Decision{.record = round->record, .certificate = std::move(certificate)};
}

/// Members have the plan, from which they make the record themselves. A record that is proposed
/// again from an earlier term has no plan here, so its Commit contains it.
wire::Commit Coordinator::commit_of(const Decision& decision) const {
    const auto& round = std::get<ProposedRound>(phase_);
    wire::Commit commit = wire::full_commit(decision);
    if (round.plan) {
        commit.attempt = round.proposal.attempt;
        commit.record.reset();
    }
    return commit;
}

}  // namespace dedloc::round
