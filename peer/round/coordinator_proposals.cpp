// The last phase of a round: the coordinator proposes the record of a round whose members are
// ready, counts votes, and proposes again what an earlier term may have decided.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "peer/base/check.hpp"
#include "peer/membership/quorum.hpp"
#include "peer/round/coordinator.hpp"

namespace dedloc::round {

void Coordinator::propose(Outbox& out) {
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

void Coordinator::propose_again(const CommitRecord& record, Outbox& out) {
    reset();
    phase_ = Phase::kProposed;
    step_ = voter_.head().step;
    term_ = election_.term();
    record_ = record;
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
void Coordinator::ask_again(TimePoint now, Outbox& out) {
    ask_at_ = now + config_.rules.election_pause;
    std::set<PeerKey> silent;
    for (const PeerKey& peer : voter_.head().voters) {
        if (!votes_.contains(peer)) silent.insert(peer);
    }
    send_to(silent, whole_proposal(), out);
}

std::optional<Decision> Coordinator::accepted(const PeerKey& from, StepIndex step,
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
    for (const CommitLine& line : record_->members) exclusions_.served(account_of(line.peer));
    complaints_.decided();
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
