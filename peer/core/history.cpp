// The head of the history. It moves by proofs only: a certified commit that extends the head, a
// state that a majority of the voters has signed, a generation that the project has signed.
//
// States    each voter signs the state that a commit leads to once it holds it, and tells the other
//           voters; the coordinator sends every member the certificate. A member with another state
//           fetches this one. A newcomer's head is the one of the first certificate that it gets.
// Keepers   backbones keep a ledger without gaps, so a certificate does not move their heads: they
//           ask a voter that is ahead for the commits that they have missed, one after the other.
// Generations   a backbone that can have them signed asks for one when other voters are wanted, or
//           when the state that was decided last does not come from any peer.
#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "peer/core/core.hpp"
#include "peer/membership/quorum.hpp"

namespace dedloc {
namespace {

constexpr std::size_t kRememberedCertificates = 8;
/// Failure timeouts without the state of the head, after which the project continues the history
/// from an older state. Until then members may come back with it.
constexpr int kStuckLimit = 12;
/// Between two answers to one keeper that is behind: each reads the ledger.
constexpr Duration kBetweenHistories = std::chrono::milliseconds{20};

}  // namespace

// --- states ------------------------------------------------------------------

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
    state_votes_[self_] = voted;
    count_state_votes(voted);
}

/// Leads from now on: a certificate that came before went to no peer that was linked by then.
void Peer::Core::certify_as_coordinator() {
    const bool was_leading = std::exchange(was_leading_, election_.is_leading());
    if (was_leading || !was_leading_) return;
    for (const auto& [peer, known] : links_.known()) send_certificate(peer);
}

/// One vote of each voter is kept, its last one; it counts with those for the same state.
void Peer::Core::count_state_votes(const StateCertificate& voted) {
    StateCertificate certificate = voted;
    certificate.votes.clear();
    for (const auto& [voter, other] : state_votes_) {
        const bool is_same = other.generation == voted.generation && other.step == voted.step &&
                             other.record == voted.record && other.state == voted.state;
        if (is_same) certificate.votes.push_back(other.votes.front());
    }
    if (voter_.is_proven(certificate)) take_certificate(certificate);
}

void Peer::Core::take(const wire::Message& m, const wire::StateVotes& body) {
    if (m.step < head().step || certificates_.contains(m.step)) return;
    const StateCertificate voted{.generation = m.generation,
                                 .step = m.step,
                                 .record = body.record,
                                 .state = body.state,
                                 .votes = body.votes};
    const bool is_own_vote = body.votes.size() == 1 && body.votes.front().voter == m.sender;
    if (is_own_vote && voter_.is_voter(m.sender)) {
        state_votes_[m.sender] = voted;
        count_state_votes(voted);
    } else if (voter_.is_proven(voted)) {
        take_certificate(voted);
    }
}

/// The newest one. The first state of a generation has none: its Generation proves it.
void Peer::Core::send_certificate(const PeerKey& to) {
    if (certificates_.empty()) return;
    const StateCertificate& newest = certificates_.rbegin()->second;
    if (!newest.votes.empty()) out_.send(to, newest.step, state_votes_of(newest));
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
    const auto own_vote = state_votes_.find(self_);
    if (!is_overdue || own_vote == state_votes_.end()) return;
    if (own_vote->second.step == head().step) donor_.certified(now_, own_vote->second, own(), out_);
}

/// Requires that it is proven, in this generation.
void Peer::Core::take_certificate(const StateCertificate& certificate) {
    if (!certificates_.try_emplace(certificate.step, certificate).second) return;
    if (certificates_.size() > kRememberedCertificates) certificates_.erase(certificates_.begin());
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
    const StateCertificate& certificate = certificates_.at(head().step);
    if (!config_.receives || member_.phase() == round::Member::Phase::kApplying) return;
    const bool is_here = member_.holds_state() && member_.step() == head().step;
    if (is_here && member_.digest() == certificate.state) return;
    catch_up_.aim(now_, certificate, out_);
    if (!is_here) return;
    out_.note("our state is not the one that the voters have signed: fetching it");
    if (election_.is_leading()) election_.step_down(out_, "its state is damaged");
    member_.outdated(out_);
}

/// The run is over once the voters have signed its last state. Until then peers stay: a voter that
/// dies between the last decision and its vote comes back to that state through the averages that
/// members retain. Without voters they stay a minute.
void Peer::Core::finish_when_over() {
    if (!is_current() || head().step < config_.rules.last_step) return;
    // A backbone waits until its members have reported the state that they reached.
    if (settlement_.is_waiting()) return;
    const bool is_signed = certificates_.contains(head().step);
    const bool is_overdue =
        now_ >= uncertified_since_ + kStuckLimit * config_.rules.failure_timeout;
    if (is_signed || is_overdue) finish(member_.step(), member_.digest());
}

void Peer::Core::finish(StepIndex step, const Digest& state) {
    if (std::exchange(is_finished_, true)) return;
    member_.finish(out_);
    out_.act(action::Finished{.step = step, .digest = state});
}

void Peer::Core::adopt_when_overdue() {
    if (now_ < overdue_at_) return;
    overdue_at_ = kNever;
    if (certificates_.empty()) return;
    const StateCertificate newest = certificates_.rbegin()->second;
    if (newest.step > head().step && !keeps_history()) adopt(newest);
}

void Peer::Core::adopt(const StateCertificate& certificate) {
    voter_.adopt(certificate);
    last_decision_.reset();
    head_changed(false);
    if (!config_.receives) return member_.follow_head(out_);
    member_.outdated(out_);
    catch_up_.aim(now_, certificate, out_);
}

/// What is counted, asked and watched is about the head.
void Peer::Core::head_changed(bool is_live) {
    links_.set_generation(head().generation);
    election_.head_changed();
    coordinator_.head_changed(now_, is_live, last_record());
    overdue_at_ = kNever;
    stuck_since_ = kNever;
    uncertified_since_ = now_;
    if (config_.receives) catch_up_.follow(head().generation, head().step);
    is_heartbeat_due_ = true;
    const auto newest = certificates_.rbegin();
    if (newest == certificates_.rend()) return;
    if (newest->first > head().step) {
        overdue_at_ = now_ + 2 * config_.rules.heartbeat;
    } else if (newest->first == head().step && config_.receives) {
        catch_up_.aim(now_, newest->second, out_);
    }
}

// --- commits that a keeper has missed ----------------------------------------

/// A voter says that it is ahead: whether it is, its commits prove.
void Peer::Core::note_ahead(const PeerKey& voter) {
    if (!keeps_history() || !voter_.is_voter(voter)) return;
    const membership::Known* known = links_.find(voter);
    if (known != nullptr) ahead_[voter] = std::max(known->step, head().step.next());
}

void Peer::Core::ask_for_history() {
    std::erase_if(ahead_, [&](const auto& a) { return a.second <= head().step; });
    if (pending_ && head().step >= pending_->record.step)
        begin_generation(*std::exchange(pending_, {}));
    if (now_ < next_query_) return;
    std::vector<PeerKey> holders;
    for (const auto& [peer, step] : ahead_) holders.push_back(peer);
    if (holders.empty() && pending_) {
        // A generation has begun without us: any backbone may have the commits that led to it.
        for (const auto& [peer, known] : links_.known()) {
            if (known.role == Role::kBackbone) holders.push_back(peer);
        }
    }
    if (holders.empty()) return;
    next_query_ = now_ + config_.rules.heartbeat;
    queried_commits_ = 0;
    // Another one each time: one of them may have lost its ledger.
    const auto turn = static_cast<std::size_t>(now_.time_since_epoch() / config_.rules.heartbeat);
    out_.send(holders[turn % holders.size()], head().step, wire::CommitQuery{});
}

void Peer::Core::take(const wire::Message& m, const wire::CommitQuery&) {
    if (!keeps_history() || !links_.has_room(m.sender, config_.rules.window_bytes)) return;
    const auto [last, is_first] = history_sent_.try_emplace(m.sender, now_);
    if (!is_first && now_ < last->second + kBetweenHistories) return;
    last->second = now_;
    out_.act(action::ReadHistory{.to = m.sender,
                                 .generation = m.generation,
                                 .step = m.step,
                                 .max_entries = wire::kMaxCommitsPerQuery});
}

void Peer::Core::on(const event::HistoryRead& event) {
    for (const auto& entry : event.entries) {
        if (const auto* generation = std::get_if<SignedGeneration>(&entry)) {
            out_.send(event.to, head().step, wire::Generation{*generation});
            continue;
        }
        const auto& decision = std::get<Decision>(entry);
        out_.send(event.to, decision.record.step, full_commit(decision));
    }
}

// --- generations -------------------------------------------------------------

/// Those that are new have to hold the state, or the next round would wait for them.
bool Peer::Core::may_appoint() const {
    const bool is_so_already =
        wanted_voters_ == head().voters && head().generation >= wanted_generation_;
    if (wanted_voters_.empty() || is_so_already || !is_current()) return false;
    // A round that can be decided is decided first.
    if (member_.is_in_round() && election_.has_majority_here()) return false;
    return std::ranges::all_of(wanted_voters_, [&](const PeerKey& peer) {
        if (peer == self_ || voter_.is_voter(peer)) return true;
        const membership::Known* known = links_.find(peer);
        return known != nullptr && known->generation == head().generation &&
               known->step == head().step && known->heartbeat.has_state &&
               known->heartbeat.state == member_.digest();
    });
}

void Peer::Core::want_generation() {
    if (!config_.may_begin_generations || is_finished_) return;
    const bool is_coming = is_current() || member_.phase() == round::Member::Phase::kApplying ||
                           catch_up_.progress() != stuck_at_;
    stuck_at_ = catch_up_.progress();
    stuck_since_ = is_coming ? kNever : std::min(stuck_since_, now_);
    voter_.pause(now_ < pause_until_);
    if (now_ < next_generation_) return;
    const bool is_stuck = stuck_since_ != kNever && election_.has_majority_here() &&
                          now_ >= stuck_since_ + kStuckLimit * config_.rules.failure_timeout &&
                          member_.holds_state() && member_.step() <= head().step;
    const bool appoints = head().step < config_.rules.last_step && may_appoint();
    if (!appoints && !is_stuck) return;
    next_generation_ = pause_until_ = now_ + config_.rules.failure_timeout;
    voter_.pause(true);
    last_wanted_ = std::max(last_wanted_, head().generation) + 1;
    if (!appoints) {
        out_.note("no peer that is here holds the state of step " +
                  std::to_string(head().step.value()) + ": going on from step " +
                  std::to_string(member_.step().value()));
    }
    out_.act(action::GenerationWanted{{.generation = last_wanted_,
                                       .step = member_.step(),
                                       .state = member_.digest(),
                                       .voters = appoints ? wanted_voters_ : head().voters}});
}

/// A keeper that has missed what led to a generation fetches that first.
void Peer::Core::take(const wire::Message&, const wire::Generation& body) {
    const GenerationRecord& record = body.generation.record;
    if (record.generation <= head().generation) return;
    if (!keeps_history() || record.step <= head().step) return begin_generation(body.generation);
    if (!membership::is_signed(config_.run, config_.project, body.generation)) return;
    if (pending_ && pending_->record.generation >= record.generation) return;
    pending_ = body.generation;
    next_query_ = now_;
}

void Peer::Core::begin_generation(const SignedGeneration& generation) {
    if (!voter_.begin(generation)) return;
    const GenerationRecord& record = generation.record;
    out_.note("generation " + std::to_string(record.generation) + " begins at step " +
              std::to_string(record.step.value()) + " with " +
              std::to_string(record.voters.size()) + " voters");
    out_.act(action::GenerationBegun{generation});
    last_decision_.reset();
    certificates_.clear();
    proven_.clear();
    state_votes_.clear();
    ahead_.clear();
    told_.clear();  // steps may come again
    is_finished_ = false;
    election_.reset();
    catch_up_.reset();
    settlement_.reset();
    donor_.begin(head().generation);
    head_changed(false);
    member_.restart(record.state, out_);
    links_.broadcast(head().step, wire::Generation{generation}, out_.actions);
    take_certificate({.generation = record.generation,
                      .step = record.step,
                      .record = head().record,
                      .state = record.state,
                      .votes = {}});
    send_heartbeat(Audience::kSmallSwarm);
}

}  // namespace dedloc
