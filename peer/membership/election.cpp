#include "peer/membership/election.hpp"

#include <algorithm>
#include <string>

#include "peer/membership/quorum.hpp"

namespace dedloc::membership {
namespace {

/// The view is not looked through at every event.
constexpr Duration kBetweenLooks = std::chrono::milliseconds{100};

}  // namespace

Election::Election(const PeerConfig& config, const PeerKey& self, const Links& links, Voter& voter,
                   Random random)
    : config_(config), self_(self), links_(links), voter_(voter), random_(random) {}

// --- rank --------------------------------------------------------------------

bool Election::outranks(const PeerKey& a, const PeerKey& b) const {
    if (a == config_.backbone || b == config_.backbone) return a == config_.backbone && b != a;
    return a < b;
}

/// Of those known here: votes, or is the backbone (who proposes need not vote), holds the state,
/// and can be dialled by the others.
bool Election::may_coordinate(const PeerKey& peer) const {
    const bool is_backbone = peer == config_.backbone;
    if (peer == self_) {
        return (is_backbone || voter_.may_vote()) && config_.receives &&
               config_.listening_port != 0;
    }
    const Known* known = links_.find(peer);
    if (known == nullptr || !known->has_reported || !known->receives) return false;
    const bool is_here = known->endpoint.port != 0 && known->step == voter_.head().step &&
                         known->generation == voter_.head().generation;
    const bool votes = voter_.is_in_view(peer) && known->heartbeat.may_vote;
    return is_here && (votes || (is_backbone && known->heartbeat.has_state));
}

bool Election::is_eligible(const PeerKey& peer) const {
    return peer == config_.backbone || voter_.is_in_view(peer);
}

/// As far as its last heartbeat says.
bool Election::leads(const PeerKey& peer) const {
    if (peer == self_) return phase_ == Phase::kLeading;
    const Known* known = links_.find(peer);
    return known != nullptr && (!known->has_reported || known->heartbeat.term == term_);
}

std::vector<PeerKey> Election::voters_here() const {
    std::vector<PeerKey> voters;
    for (const PeerKey& peer : voter_.head().view) {
        const Known* known = links_.find(peer);
        const bool votes =
            peer == self_ ? voter_.may_vote()
                          : known != nullptr && known->has_reported && known->heartbeat.may_vote;
        if (votes) voters.push_back(peer);
    }
    return voters;
}

// --- as a voter --------------------------------------------------------------

void Election::answer(const PeerKey& to, StepIndex step, const Term& term, round::Outbox& out) {
    const wire::Promise promise = voter_.promise(term);
    highest_ =
        std::max(highest_, promise.promised.number == kLastTerm ? 0 : promise.promised.number);
    out.send(to, step, promise);
}

void Election::asked(TimePoint now, const PeerKey& from, StepIndex step, const wire::Elect& elect,
                     round::Outbox& out) {
    if (elect.term.coordinator != from || step != voter_.head().step || !voter_.may_vote()) return;
    if (!is_eligible(from)) return;
    const PeerKey& current = term_.coordinator;
    const bool has_better =
        current != from && current != PeerKey{} && leads(current) && outranks(current, from);
    if (has_better) {
        out.send(
            from, step,
            wire::Promise{.term = elect.term, .granted = false, .promised = voter_.promised()});
        return;
    }
    // Somebody stands whom we have to wait for: not both at once.
    if (from != self_ && elect.term > term_ && phase_ != Phase::kLeading) {
        retry_at_ = std::max(retry_at_, now + config_.rules.election_pause);
    }
    answer(from, step, elect.term, out);
}

void Election::called(const PeerKey& from, StepIndex step, const wire::Call& call,
                      round::Outbox& out) {
    if (call.term.coordinator != from || step != voter_.head().step || !voter_.may_vote()) return;
    answer(from, step, call.term, out);
}

void Election::proposed(const PeerKey& from, StepIndex step, const Term& term, round::Outbox& out) {
    const bool is_asked = step == voter_.head().step && voter_.may_vote();
    if (is_asked && term < voter_.promised()) answer(from, step, term, out);
}

// --- as a candidate ----------------------------------------------------------

void Election::stand(TimePoint now, round::Outbox& out) {
    if (voter_.promised().number != kLastTerm) {
        highest_ = std::max(highest_, voter_.promised().number);
    }
    highest_ = std::max(highest_, term_.number) + 1;
    candidacy_ = {.number = highest_, .coordinator = self_};
    phase_ = Phase::kStanding;
    round_changed();
    const auto pause = static_cast<std::uint64_t>(config_.rules.election_pause.count());
    retry_at_ = now + config_.rules.election_pause + Duration{random_.below(pause)};
    // Our own promise comes last: who is refused has not disturbed anybody.
    ask_others({self_}, out);
    count_promises(out);
}

void Election::count_promises(round::Outbox& out) {
    if (voter_.may_vote()) promised_.insert(self_);
    const bool is_enough = has_quorum_promised();
    promised_.erase(self_);
    if (!is_enough) return;
    if (voter_.may_vote()) {
        const wire::Promise own = voter_.promise(candidacy_);
        if (!own.granted) return;
        take(self_, own);
    }
    phase_ = Phase::kLeading;
    term_ = candidacy_;
    deferring_since_ = kNever;
    quorum_seen_ = now_;
    out.note("coordinating from step " + std::to_string(voter_.head().step.value()) + " in term " +
             std::to_string(term_.number));
}

void Election::ask_others(const std::set<PeerKey>& seated, round::Outbox& out) {
    std::vector<PeerKey> others;
    std::ranges::set_difference(voter_.head().view, seated, std::back_inserter(others));
    out.send_to_all(std::move(others), voter_.head().step,
                    wire::Elect{phase_ == Phase::kStanding ? candidacy_ : term_});
}

void Election::answered(const PeerKey& from, StepIndex step, const wire::Promise& promise,
                        round::Outbox& out) {
    const Term& asked = phase_ == Phase::kStanding ? candidacy_ : term_;
    if (step != voter_.head().step || promise.term != asked || asked.coordinator != self_) return;
    if (phase_ == Phase::kFollowing) return;
    if (!promise.granted) {
        if (promise.promised <= asked) return;
        if (promise.promised.number != kLastTerm) {
            highest_ = std::max(highest_, promise.promised.number);
        }
        if (phase_ == Phase::kLeading) step_down(out, "another one was promised more");
        return;
    }
    if (!voter_.is_in_view(from)) return;
    take(from, promise);
    if (phase_ == Phase::kStanding) count_promises(out);
}

void Election::take(const PeerKey& from, const wire::Promise& promise) {
    promised_.insert(from);
    if (!promise.accepted || !voter_.extends_head(*promise.accepted)) return;
    if (inherited_ && promise.accepted_in <= inherited_in_) return;
    inherited_ = promise.accepted;
    inherited_in_ = promise.accepted_in;
}

bool Election::has_live_leader() const {
    return has_leader() && leads(term_.coordinator);
}

bool Election::has_promises() const {
    return is_leading() && has_quorum_promised();
}

bool Election::has_quorum_promised() const {
    const std::vector<PeerKey> promised(promised_.begin(), promised_.end());
    return is_quorum(voter_.head().view, config_.backbone, promised);
}

void Election::round_changed() {
    look_again();
    promised_.clear();
    inherited_.reset();
    inherited_in_ = {};
}

// --- who leads ---------------------------------------------------------------

/// Whoever has a link may say that it coordinates: only who could have been elected is believed.
bool Election::could_lead(const Term& term) const {
    return (is_eligible(term.coordinator) && voter_.is_near(term)) || term == voter_.promised();
}

void Election::heard(const Term& term, round::Outbox& out) {
    if (term == term_ || term.coordinator == self_ || !could_lead(term)) return;
    if (term < term_ && has_live_leader()) return;
    if (term.number != kLastTerm) highest_ = std::max(highest_, term.number);
    if (phase_ == Phase::kLeading) step_down(out, "a higher term coordinates");
    if (phase_ == Phase::kStanding && term > candidacy_) {
        phase_ = Phase::kFollowing;
        round_changed();
    }
    term_ = term;
    look_again();
}

void Election::step_down(round::Outbox& out, const std::string& why) {
    out.note("not coordinating any more: " + why);
    phase_ = Phase::kFollowing;
    term_.coordinator = {};
    round_changed();
}

void Election::reset() {
    phase_ = Phase::kFollowing;
    term_ = candidacy_ = {};
    highest_ = 0;
    deferring_since_ = kNever;
    round_changed();
}

/// Whoever is better is waited for, but not for good: it may reach too few to be elected.
bool Election::defers(TimePoint now, bool is_led, const std::vector<PeerKey>& here) {
    const auto is_better = [&](const PeerKey& peer) {
        return peer != self_ && outranks(peer, self_) && may_coordinate(peer);
    };
    auto better = std::count_if(here.begin(), here.end(), is_better);
    const bool is_counted = std::ranges::binary_search(here, config_.backbone);
    if (!is_counted && is_better(config_.backbone)) ++better;
    if (is_led || better == 0) {
        deferring_since_ = kNever;
        return better > 0;
    }
    deferring_since_ = std::min(deferring_since_, now);
    return now < deferring_since_ + better * config_.rules.silence;
}

void Election::advance(TimePoint now, bool may_stand, bool is_idle, round::Outbox& out) {
    now_ = now;
    if (now < look_at_ && (phase_ != Phase::kStanding || now < retry_at_)) return;
    look_at_ = now + kBetweenLooks;
    const auto here = voters_here();
    has_quorum_here_ = is_quorum(voter_.head().view, config_.backbone, here);
    if (has_quorum_here_) quorum_seen_ = now;
    if (phase_ == Phase::kLeading) {
        if (!may_stand) return step_down(out, "this peer has no say or no state");
        if (!has_quorum_here_ && now >= quorum_seen_ + 2 * config_.rules.silence) {
            step_down(out, "no quorum of the view is here");
        }
        return;
    }
    if (phase_ == Phase::kStanding && now >= retry_at_) {
        phase_ = Phase::kFollowing;
        round_changed();
    }
    if (!may_stand || !has_quorum_here_ || !may_coordinate(self_)) {
        deferring_since_ = kNever;
        return;
    }
    if (phase_ != Phase::kFollowing || now < retry_at_) return;
    const PeerKey& current = term_.coordinator;
    const bool is_led = current != PeerKey{} && current != self_ && leads(current);
    if (defers(now, is_led, here)) return;
    if (is_led && (!outranks(self_, current) || !is_idle)) return;
    stand(now, out);
}

TimePoint Election::next_deadline() const {
    const TimePoint next =
        phase_ == Phase::kLeading ? quorum_seen_ + 2 * config_.rules.silence : retry_at_;
    return next > now_ ? next : kNever;
}

}  // namespace dedloc::membership
