// Decisions: how a certified commit moves the head, who is told of it, and when the run is over.
//
// Three ways lead to decide(): votes that complete a certificate at the coordinator (Accept), a
// Commit from another peer, and a round that was fetched while catching up. Each passes the same
// two checks: the record extends the head, and its certificate has the votes of a majority.
#include <utility>

#include "peer/core/core.hpp"

namespace dedloc {
namespace {

/// Failure timeouts that a peer which holds the last state waits for its certificate before it
/// finishes without one: the voters may be gone for good.
constexpr int kMaxFinishWait = 12;

}  // namespace

void Peer::Core::take(const wire::Message& m, const wire::Accept& body) {
    const auto decision = coordinator_.on_accept(m.sender, m.step, body);
    if (!decision) return;
    const std::set<PeerKey> members = coordinator_.addressees();
    const wire::Commit commit = coordinator_.commit_of(*decision);
    // Ours first: the ledger has the commit before any other peer acts on it.
    const StepIndex step = decision->record.step;
    decide(*decision, true);
    addressed_ = members;
    settle_votes();
    membership::Links::SharedMessage shared_message = links_.shared_message(step, commit);
    for (const PeerKey& peer : members) {
        if (peer != self_) links_.send(peer, shared_message, out_.actions);
    }
    tell_outsiders(step);
}

void Peer::Core::take(const wire::Message& m, const wire::Commit& body) {
    if (is_forger(m.sender)) return;
    const auto record = member_.record_of(body);
    if (!record || !voter_.extends_head(*record)) return;
    if (!voter_.is_decided(*record, body.certificate)) return forged(m.sender);
    if (const wire::Plan* plan = member_.last_plan(); plan != nullptr) pass_on(*plan);
    const bool was_asked_for = body.record.has_value();
    if (was_asked_for) missed_.received();
    decide({*record, body.certificate}, !was_asked_for);
}

void Peer::Core::decide(const Decision& decision, bool is_live) {
    const SharedFloats average = member_.average_of(decision.record);
    last_decision_ = decision;
    addressed_.clear();
    decided_at_ = now_;
    const bool was_in_time = is_in_time();
    donor_.state_changes(now_);
    member_.on_decision(decision.record, decision.certificate, out_);
    member_.compare_mixture(decision.record, out_);
    member_.reuse(donor_.keep(decision.record, decision.certificate, average));
    if (config_.role == Role::kBackbone) {
        settlement_.on_decision(now_, decision.record, out_);
        for (const CommitLine& line : decision.record.members) {
            if (line.peer == self_) continue;
            if (links_.find(line.peer) == nullptr) settlement_.on_link_lost(line.peer);
            forget_if_stateless(line.peer);
        }
    }
    using Outcome = progress::LinkRate::Outcome;
    round_measured(was_in_time ? Outcome::kInTime : Outcome::kLate);
    head_changed(is_live);
    if (is_live) catch_up_.decided(now_, head().step);
}

/// An earlier process of this backbone made the last decision and ended before it had counted the
/// states: its members are linked again soon.
void Peer::Core::settle_last_decision() {
    if (config_.role != Role::kBackbone || !last_decision_) return;
    const CommitRecord& record = last_decision_->record;
    if (config_.last_settled < record.step.next()) settlement_.on_decision(now_, record, out_);
}

/// A member without a state never reports one.
void Peer::Core::forget_if_stateless(const PeerKey& peer) {
    const membership::Known* const known = links_.find(peer);
    if (known != nullptr && !known->receives) settlement_.on_link_lost(peer);
}

/// A peer that was not in the round and holds the state it began with catches up now: told only
/// after its next heartbeat, it would be a step behind forever where rounds are short.
void Peer::Core::tell_outsiders(StepIndex step) {
    for (const auto& [peer, known] : links_.known()) {
        if (links_.is_crowded()) return;
        const bool is_next = known.generation == head().generation && known.step == step;
        if (is_next && known.heartbeat.has_state && !was_addressed(peer)) tell_decision(peer, step);
    }
}

/// A peer that has missed something: the commit with its record if that is all, else what proves
/// where the history stands.
void Peer::Core::tell_decision(const PeerKey& peer, StepIndex step) {
    const auto told = told_.find(peer);
    if (told != told_.end() && told->second >= head().step) return;
    const bool is_last = last_decision_ && step == last_decision_->record.step;
    const bool has_proof = certificates_.newest() != nullptr && certificates_.newest()->step > step;
    if (!is_last && !has_proof) return;
    told_[peer] = head().step;
    if (!is_last) return send_certificate(peer);
    out_.send(peer, step, wire::full_commit(*last_decision_));
}

/// Whether our last Commit was for this peer too. It was if we do not know.
bool Peer::Core::was_addressed(const PeerKey& peer) const {
    if (addressed_.empty() || addressed_.contains(peer) || !last_decision_) return true;
    return line_of(last_decision_->record, peer) != nullptr;
}

void Peer::Core::apply_fetched() {
    if (member_.phase() == round::Member::Phase::kApplying) return;
    const auto fetched = catch_up_.take_round();
    if (!fetched) return;
    const Decision decision{.record = fetched->record, .certificate = fetched->certificate};
    if (voter_.extends_head(decision.record)) decide(decision, false);
    member_.reuse(donor_.keep(decision.record, decision.certificate, fetched->average));
    const CommitRecord& record = decision.record;
    if (member_.on_average(record, fetched->average, out_)) return;
    catch_up_.stop();
    // The record is proof of the state before it: a peer that holds another one is damaged.
    const bool is_damaged = member_.holds_state() && member_.step() == record.step &&
                            member_.digest() != record.previous_state;
    if (!is_damaged) return;
    catch_up_.aim(now_,
                  {.generation = record.generation,
                   .step = record.step,
                   .record = record.previous_record,
                   .state = record.previous_state,
                   .votes = {}},
                  out_);
}

/// What is counted, asked and watched is about the head.
void Peer::Core::head_changed(bool is_live) {
    links_.set_generation(head().generation);
    election_.head_changed();
    coordinator_.on_head(now_, is_live, last_record());
    overdue_at_ = kNever;
    missed_.head_moved(head().step);
    request_.head_moved();
    uncertified_since_ = now_;
    if (config_.receives) catch_up_.follow(head().generation, head().step);
    is_heartbeat_due_ = true;
    const StateCertificate* newest = certificates_.newest();
    if (newest == nullptr) return;
    if (newest->step > head().step) {
        overdue_at_ = now_ + 2 * config_.rules.heartbeat;
    } else if (newest->step == head().step && config_.receives) {
        catch_up_.aim(now_, *newest, out_);
    }
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
        now_ >= uncertified_since_ + kMaxFinishWait * config_.rules.failure_timeout;
    if (is_signed || is_overdue) finish(member_.step(), member_.digest());
}

void Peer::Core::finish(StepIndex step, const Digest& state) {
    if (std::exchange(is_finished_, true)) return;
    member_.finish(out_);
    const StateCertificate* const signed_state = certificates_.at(step);
    const bool is_signed = signed_state != nullptr && signed_state->state == state;
    out_.act(action::Finished{.step = step,
                              .digest = state,
                              .votes = is_signed ? signed_state->votes : std::vector<Vote>{}});
}

}  // namespace dedloc
