// A candidate asks the other voters first and makes its own promise last, so a refused candidate
// can still vote for the present leader. Promises hold for all later steps of a term (Multi-Paxos):
// a leader needs no new election until it is lost. Voters are counted every 100 ms and when links
// change; retries are randomised so that two candidates do not collide for ever.
#include "peer/membership/election.hpp"

#include <algorithm>
#include <string>

#include "peer/membership/quorum.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::membership {
namespace {

/// Pause between two counts of the voters.
constexpr Duration kCountPause = std::chrono::milliseconds{100};

}  // namespace

Election::Election(const PeerConfig& config, const PeerKey& self, const Links& links, Voter& voter,
                   Random random)
    : config_(config), self_(self), links_(links), voter_(voter), random_(random) {}

/// Judged by the peer's last heartbeat; a peer that has not sent one yet gets the benefit of the
/// doubt.
bool Election::leads(const PeerKey& peer) const {
    if (peer == self_) return phase_ == Phase::kLeading;
    if (is_distrusted(peer)) return false;
    const Known* known = links_.find(peer);
    return known != nullptr && (!known->has_reported || known->heartbeat.term == term_);
}

bool Election::has_live_leader() const {
    return term_.coordinator != PeerKey{} && leads(term_.coordinator);
}

/// Voters that are linked and able to vote, this peer included; ascending.
std::vector<PeerKey> Election::voters_here() const {
    std::vector<PeerKey> voters;
    for (const PeerKey& peer : voter_.head().voters) {
        const Known* known = links_.find(peer);
        const bool votes =
            peer == self_ ? voter_.may_vote()
                          : known != nullptr && known->has_reported && known->heartbeat.may_vote;
        if (votes) voters.push_back(peer);
    }
    return voters;
}

bool Election::has_majority_without(const std::set<PeerKey>& voters) const {
    std::vector<PeerKey> here = voters_here();
    std::erase_if(here, [&](const PeerKey& peer) { return voters.contains(peer); });
    return is_majority(voter_.head().voters, here);
}

bool Election::is_distrusted(const PeerKey& voter) const {
    std::set<PeerKey> distrusted;
    for (const auto& [peer, until] : distrusted_) {
        if (now_ < until) distrusted.insert(peer);
    }
    return distrusted.contains(voter) && has_majority_without(distrusted);
}

/// Once the last term number is claimed, no term is higher until the next generation. Only a voter
/// can claim it, and the project can replace the voters.
void Election::see(std::uint64_t number, const PeerKey& voter, Outbox& out) {
    if (number >= wire::kMaxTermNumber && highest_ < number) {
        out.accuse(voter, voter.brief() +
                              " claims the last term: no other voter can coordinate until the "
                              "project dismisses it");
    }
    highest_ = std::max(highest_, number);
}

/// The highest term number that this peer has heard of.
std::uint64_t Election::highest() const {
    return std::max({highest_, voter_.promised().number, term_.number});
}

// --- as a voter --------------------------------------------------------------

void Election::on_elect(TimePoint now, const PeerKey& from, StepIndex step,
                        const wire::Elect& elect, Outbox& out) {
    if (elect.term.coordinator != from || !voter_.is_voter(from) || !voter_.may_vote()) return;
    const bool has_other = has_live_leader() && term_.coordinator != from;
    if (step < voter_.head().step || has_other || is_distrusted(from)) {
        out.send(
            from, voter_.head().step,
            wire::Promise{.term = elect.term, .granted = false, .promised = voter_.promised()});
        return;
    }
    // After a promise the candidate gets one election_pause before this peer stands itself.
    if (elect.term > term_ && phase_ != Phase::kLeading) {
        retry_at_ = std::max(retry_at_, now + config_.rules.election_pause);
    }
    const wire::Promise promise = voter_.promise(elect.term);
    see(promise.promised.number, promise.promised.coordinator, out);
    out.send(from, voter_.head().step, promise);
}

void Election::on_propose(const PeerKey& from, const Term& term, Outbox& out) {
    if (!voter_.may_vote() || term >= voter_.promised()) return;
    out.send(from, voter_.head().step,
             wire::Promise{.term = term, .granted = false, .promised = voter_.promised()});
}

// --- as a candidate ----------------------------------------------------------

void Election::stand(TimePoint now, Outbox& out) {
    highest_ = highest() + 1;
    candidacy_ = {.number = highest_, .coordinator = self_};
    phase_ = Phase::kStanding;
    promised_.clear();
    inherited_.reset();
    inherited_in_ = {};
    const auto pause = static_cast<std::uint64_t>(config_.rules.election_pause.count());
    retry_at_ = now + config_.rules.election_pause + Duration{random_.below(pause)};
    std::vector<PeerKey> others = voter_.head().voters;
    std::erase(others, self_);
    out.send_to_all(std::move(others), voter_.head().step, wire::Elect{candidacy_});
    count_promises(out);
}

void Election::count_promises(Outbox& out) {
    std::set<PeerKey> promised = promised_;
    promised.insert(self_);
    const std::vector<PeerKey> some(promised.begin(), promised.end());
    if (!is_majority(voter_.head().voters, some)) return;
    const wire::Promise own = voter_.promise(candidacy_);
    if (!own.granted) return;
    take_promise(self_, voter_.head().step, own);
    phase_ = Phase::kLeading;
    term_ = candidacy_;
    turn_at_ = unled_since_ = kNever;
    majority_seen_ = now_;
    out.note("coordinating from step " + std::to_string(voter_.head().step.value()) + " in term " +
             std::to_string(term_.number));
}

void Election::on_promise(const PeerKey& from, StepIndex step, const wire::Promise& promise,
                          Outbox& out) {
    const Term& asked = phase_ == Phase::kStanding ? candidacy_ : term_;
    if (phase_ == Phase::kFollowing || promise.term != asked || !voter_.is_voter(from)) return;
    if (!promise.granted) {
        see(promise.promised.number, from, out);
        const bool is_over = promise.promised > asked;
        if (phase_ == Phase::kLeading && is_over) step_down(out, "a voter has promised a new term");
        return;
    }
    if (phase_ != Phase::kStanding || step > voter_.head().step || is_distrusted(from)) return;
    take_promise(from, step, promise);
    count_promises(out);
}

/// Counts a promise, and takes over the record that the voter has accepted for the head's round, if
/// its term is the highest so far. A voter that is behind the head has accepted none for it.
void Election::take_promise(const PeerKey& from, StepIndex step, const wire::Promise& promise) {
    promised_.insert(from);
    if (step != voter_.head().step || !promise.accepted) return;
    if (!voter_.extends_head(*promise.accepted)) return;
    if (inherited_ && promise.accepted_in <= inherited_in_) return;
    inherited_ = promise.accepted;
    inherited_in_ = promise.accepted_in;
    inherited_from_ = from;
}

/// Any majority of promises will do (Multi-Paxos). If the record is decided, each of them has a
/// voter that has accepted it.
void Election::doubt_inherited(TimePoint now, Outbox& out) {
    if (inherited_from_ != self_) distrust(now, inherited_from_);
    step_down(out, "too few voters vote for the record that " + inherited_from_.brief() +
                       " says it has accepted");
}

void Election::head_changed() {
    count_again();
    inherited_.reset();
    inherited_in_ = {};
    if (phase_ != Phase::kStanding) return;
    // The promises reported what was accepted for the former head: stand again.
    phase_ = Phase::kFollowing;
    promised_.clear();
}

// --- following and leading -----------------------------------------------------

void Election::on_coordinator(const Term& term, Outbox& out) {
    if (term == term_ || term.coordinator == self_ || !voter_.is_voter(term.coordinator)) return;
    if (term < term_ && has_live_leader()) return;
    see(term.number, term.coordinator, out);
    if (is_distrusted(term.coordinator)) return;
    if (phase_ == Phase::kLeading) step_down(out, "another voter leads a higher term");
    if (phase_ == Phase::kStanding && term > candidacy_) phase_ = Phase::kFollowing;
    term_ = term;
    count_again();
}

void Election::step_down(Outbox& out, const std::string& why) {
    out.note("not coordinating any more: " + why);
    phase_ = Phase::kFollowing;
    term_.coordinator = {};
    head_changed();
}

void Election::reset() {
    phase_ = Phase::kFollowing;
    term_ = candidacy_ = {};
    highest_ = 0;
    promised_.clear();
    distrusted_.clear();
    turn_at_ = unled_since_ = kNever;
    retry_at_ = TimePoint::min();
    head_changed();
}

TimePoint Election::turn(const std::vector<PeerKey>& here) const {
    const auto precedes = [&](const PeerKey& peer) {
        if (self_ == config_.backbone || peer == self_) return false;
        return peer == config_.backbone || peer < self_;
    };
    return unled_since_ + std::ranges::count_if(here, precedes) * config_.rules.election_pause;
}

void Election::advance(TimePoint now, bool may_lead, Outbox& out) {
    now_ = now;
    const bool is_due = now >= turn_at_ || (phase_ == Phase::kStanding && now >= retry_at_);
    if (now < next_count_at_ && !is_due) return;
    next_count_at_ = now + kCountPause;
    const auto here = voters_here();
    has_majority_here_ = is_majority(voter_.head().voters, here);
    if (has_majority_here_) majority_seen_ = now;
    if (phase_ == Phase::kLeading) {
        if (!may_lead) return step_down(out, "this peer has no state");
        if (now >= majority_seen_ + 2 * config_.rules.failure_timeout) {
            step_down(out, "it has lost the majority of the voters");
        }
        return;
    }
    if (phase_ == Phase::kStanding && now >= retry_at_) phase_ = Phase::kFollowing;
    const bool can_lead = may_lead && voter_.may_vote() && config_.receives &&
                          links_.listening_port() != 0 && has_majority_here_ &&
                          highest() < wire::kMaxTermNumber;
    if (!can_lead || has_live_leader()) {
        turn_at_ = unled_since_ = kNever;
        return;
    }
    unled_since_ = std::min(unled_since_, now);
    turn_at_ = std::max(turn(here), retry_at_);
    if (phase_ == Phase::kFollowing && now >= turn_at_) stand(now, out);
}

TimePoint Election::next_deadline() const {
    const TimePoint next = phase_ == Phase::kLeading
                               ? majority_seen_ + 2 * config_.rules.failure_timeout
                           : phase_ == Phase::kStanding ? retry_at_
                                                        : turn_at_;
    return next > now_ ? next : kNever;
}

}  // namespace dedloc::membership
