// State certificates: which state follows the last decision, signed by a majority of the voters.
//
// A voter signs the state that a commit leads to once it holds it and sends its vote to the other
// voters; the coordinator sends the certificate to every peer. A peer that holds another state
// fetches the signed one. A newcomer's head is that of the first certificate that it receives. A
// keeper of history (backbone) is not moved by certificates: it fetches the commits one by one
// (history.cpp).
#include <algorithm>
#include <string>
#include <utility>

#include "peer/core/core.hpp"

namespace dedloc {
namespace {

/// Certificates without a majority's votes after which no more of the sender are looked at.
constexpr unsigned kForgeries = 8;

}  // namespace

/// This peer has just reached a state.
void Peer::Core::certify_own_state() {
    if (!is_current()) return;
    if (certificates_.contains(head().step)) return compare_with_certificate();
    vote_for_state(member_.digest());
}

/// The state of the head. A peer that has voted for it in an earlier life votes again before it
/// holds it: with one voter no other peer can prove which state that is.
void Peer::Core::vote_for_state(const Digest& state) {
    const auto vote = voter_.vote_for_state(state);
    if (!vote) return;
    settle_votes();
    const StateCertificate voted{.generation = head().generation,
                                 .step = head().step,
                                 .record = head().record,
                                 .state = state,
                                 .votes = {*vote}};
    std::vector<PeerKey> others = head().voters;
    std::erase(others, self_);
    out_.send_to_all(std::move(others), head().step, state_votes_of(voted));
    count_state_vote(self_, voted);
}

/// Leads from now on: a certificate that came before went to no peer that was linked by then.
void Peer::Core::certify_as_coordinator() {
    const bool was_leading = std::exchange(was_leading_, election_.is_leading());
    if (was_leading || !was_leading_) return;
    for (const auto& [peer, known] : links_.known()) send_certificate(peer);
}

void Peer::Core::count_state_vote(const PeerKey& voter, const StateCertificate& voted) {
    const auto certificate = certificates_.count(voter, voted);
    if (certificate) take_certificate(*certificate);
}

void Peer::Core::take(const wire::Message& m, const wire::StateVotes& body) {
    if (m.step < head().step || certificates_.contains(m.step) || is_forger(m.sender)) return;
    const StateCertificate voted{.generation = m.generation,
                                 .step = m.step,
                                 .record = body.record,
                                 .state = body.state,
                                 .votes = body.votes};
    const bool is_own_vote = body.votes.size() == 1 && body.votes.front().voter == m.sender;
    const bool is_voters = is_own_vote && voter_.is_voter(m.sender);
    // Before it is kept: a false one would stand in the way of the true ones.
    if (is_voters ? !voter_.is_vote(voted) : !voter_.is_proven(voted)) return forged(m.sender);
    is_voters ? count_state_vote(m.sender, voted) : take_certificate(voted);
}

/// A false signature costs this peer 60 µs, and the sender nothing.
bool Peer::Core::is_forger(const PeerKey& sender) const {
    const auto found = forgeries_.find(sender);
    return found != forgeries_.end() && found->second >= kForgeries;
}

void Peer::Core::forged(const PeerKey& sender) {
    if (++forgeries_[sender] < kForgeries) return;
    out_.accuse(sender, sender.brief() +
                            " sends certificates without the votes that they need: "
                            "none of them is looked at until it links again");
}

/// The newest one. The first state of a generation has none: its Generation proves it.
void Peer::Core::send_certificate(const PeerKey& to) {
    const StateCertificate* newest = certificates_.newest();
    if (newest == nullptr || newest->votes.empty()) return;
    out_.send(to, newest->step, state_votes_of(*newest));
}

/// Repeats our vote for a state without a certificate: a failed link may have lost the first one.
void Peer::Core::send_vote(const PeerKey& to) {
    const StateCertificate* vote = certificates_.vote_of(self_);
    if (vote == nullptr || !voter_.is_voter(to) || certificates_.contains(vote->step)) return;
    out_.send(to, vote->step, state_votes_of(*vote));
}

/// Whether an offered state may be loaded. A keeper of history loads no state beyond its commits. A
/// voter whose vote the certificate lacks takes the coordinator's word after a while: voters follow
/// the protocol, and another one that held the state may be away for good.
bool Peer::Core::is_proven(const StateCertificate& certificate) {
    if (keeps_history() && certificate.step > head().step) return false;
    if (voter_.is_proven(certificate)) {
        proven_.push_back(certificate);
        return true;
    }
    const bool is_awaited = voter_.may_vote() && certificate.generation == head().generation &&
                            certificate.step == head().step &&
                            certificate.record == head().record &&
                            now_ >= uncertified_since_ + 2 * config_.rules.failure_timeout;
    return is_awaited && certificate.votes.size() == 1 &&
           election_.is_coordinator(certificate.votes.front().voter) &&
           verify(certificate.votes.front().voter, state_vote_bytes(config_.run, certificate),
                  certificate.votes.front().signature);
}

/// The other half: a coordinator whose state lacks votes lets voters without it fetch it.
void Peer::Core::offer_uncertified_state() {
    const bool is_overdue = election_.is_leading() && is_current() &&
                            now_ >= uncertified_since_ + 2 * config_.rules.failure_timeout &&
                            !certificates_.contains(head().step);
    const StateCertificate* own_vote = certificates_.vote_of(self_);
    if (!is_overdue || own_vote == nullptr || own_vote->step != head().step) return;
    donor_.certified(now_, *own_vote, own(), out_);
}

/// Requires that it is proven, in this generation.
void Peer::Core::take_certificate(const StateCertificate& certificate) {
    if (!certificates_.add(certificate)) return;
    donor_.certified(now_, certificate, own(), out_);
    if (election_.is_leading() && !certificate.votes.empty()) {
        links_.broadcast(certificate.step, state_votes_of(certificate), out_.actions);
    }
    if (certificate.step == head().step) {
        compare_with_certificate();
    } else if (certificate.step > head().step) {
        const bool has_own_vote = std::ranges::any_of(
            certificate.votes, [&](const Vote& vote) { return vote.voter == self_; });
        if (has_own_vote && voter_.may_vote()) {
            voter_.stop_voting();
            out_.note("this voter has signed step " + std::to_string(certificate.step.value()) +
                      " and does not remember it: it votes no more until the project appoints "
                      "voters again");
        }
        // The Commit of the next step may be under way.
        const bool is_next = certificate.step == head().step.next();
        overdue_at_ = now_;
        if (is_next && config_.receives) overdue_at_ += 2 * config_.rules.heartbeat;
    }
    // A member of the last round is about to hold that state, and finishes then.
    const bool is_over = certificate.step >= config_.rules.last_step &&
                         member_.phase() != round::Member::Phase::kApplying;
    if (is_over && !keeps_history()) finish(certificate.step, certificate.state);
}

/// The certificate of the head's state is here, or the own state is.
void Peer::Core::compare_with_certificate() {
    const StateCertificate certificate = *certificates_.at(head().step);
    if (!config_.receives || member_.phase() == round::Member::Phase::kApplying) return;
    const bool is_here = member_.holds_state() && member_.step() == head().step;
    if (is_here && member_.digest() == certificate.state) return;
    catch_up_.aim(now_, certificate, out_);
    if (!is_here) return;
    out_.note("our state is not the one that the voters have signed: fetching it");
    if (election_.is_leading()) election_.step_down(out_, "its state is damaged");
    member_.give_up(out_);
}

/// Waits for the Commit, unless the state is here already: it came in an offer that proved it.
void Peer::Core::adopt_when_overdue() {
    const bool is_overdue = now_ >= overdue_at_;
    if (is_overdue) overdue_at_ = kNever;
    const StateCertificate* newest = certificates_.newest();
    if (newest == nullptr || newest->step <= head().step || keeps_history()) return;
    const bool is_here = member_.holds_state() && member_.step() == newest->step &&
                         member_.digest() == newest->state;
    if (!is_overdue && !is_here) return;
    adopt(StateCertificate{*newest});
}

void Peer::Core::adopt(const StateCertificate& certificate) {
    voter_.adopt(certificate);
    last_decision_.reset();
    head_changed(false);
    if (!config_.receives) return member_.follow_head(out_);
    member_.give_up(out_);
    catch_up_.aim(now_, certificate, out_);
}

}  // namespace dedloc
