// How a peer handles an event: the part that it concerns takes it, then every part does what has
// become due, then the messages and frames that the parts have left behind are sent. A message to
// the peer itself is delivered like any other, after those to other peers, so a coordinator that is
// also a member and a voter needs no special case.
#include "peer/core/core.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "peer/base/check.hpp"
#include "peer/state/packed_average.hpp"

namespace dedloc {

Peer::Core::Core(PeerConfig config, const KeyPair& key, const kernels::Workers& workers)
    : config_(std::move(config)),
      self_(key.public_key()),
      links_(config_, key),
      voter_(config_, key),
      election_(config_, self_, links_, voter_, Random{config_.random_seed}.split(2)),
      member_(config_, self_, voter_, workers),
      coordinator_(config_, self_, links_, voter_, election_, member_),
      settlement_(config_, self_),
      donor_(config_.rules, workers),
      catch_up_(
          config_.rules, [this] { return donors(); },
          [this](const CommitRecord& record, const Certificate& certificate) {
              return voter_.is_decided(record, certificate);
          },
          [this](const StateCertificate& certificate) { return is_proven(certificate); },
          Random{config_.random_seed}.split(1)),
      upload_(config_.upload),
      download_(config_.download),
      certificates_(voter_),
      missed_(config_.rules.heartbeat),
      request_(config_.rules.failure_timeout) {
    const auto fault = fault_of(config_.rules);
    DEDLOC_CHECK(!fault, "the rules of a run are sound", fault.value_or(""));
    DEDLOC_CHECK(config_.scalars_of != nullptr, "a peer knows the schedule: it may coordinate");
    donor_.begin(head().generation);
    if (config_.role == Role::kBackbone) donor_.retain(state::rounds_of_a_state(config_.rules));
    last_decision_ = config_.last_decision;
    pause_ = config_.pause;
    if (is_paused_at(pause_count())) {
        member_.set_paused(true, out_);
        coordinator_.set_paused(now_, true);
    }
    bandwidth_measured();
    head_changed(false);
}

void Peer::Core::handle(TimePoint now, const Event& event, Actions& actions) {
    DEDLOC_CHECK(now >= now_, "time does not go backwards");
    const bool is_first = now_ == TimePoint::min();
    now_ = now;
    is_bulk_event_ = std::holds_alternative<event::FrameWritten>(event);
    out_.actions = std::move(actions);
    if (is_first) {
        coordinator_.on_head(now, false, last_record());
        settle_last_decision();
        if (last_record() != nullptr) member_.compare_mixture(*last_record(), out_);
        member_.tell_mixture(out_);
        if (voter_.voted_state()) vote_for_state(*voter_.voted_state());
    }
    std::visit([this](const auto& e) { on(e); }, event);
    follow_up();
    actions = std::exchange(out_.actions, {});
}

TimePoint Peer::Core::next_deadline() const {
    if (is_away_) return kNever;
    TimePoint next =
        std::min({links_.next_deadline(), donor_.next_deadline(), catch_up_.next_deadline(),
                  member_.next_deadline(), election_.next_deadline(), next_heartbeat_,
                  next_progress_, leave_at_, overdue_at_});
    // A peer that is leaving decides nothing any more.
    if (leave_at_ == kNever) next = std::min(next, coordinator_.next_deadline());
    if (config_.role == Role::kBackbone) next = std::min(next, settlement_.next_deadline());
    if (keeps_history()) next = std::min(next, missed_.next_deadline());
    return next;
}

void Peer::Core::check_invariants() const {
    links_.check_invariants();
    voter_.check_invariants();
    member_.check_invariants();
    coordinator_.check_invariants();
    donor_.check_invariants();
    catch_up_.check_invariants();
}

void Peer::Core::follow_up() {
    if (is_away_) {
        out_.messages.clear();
        return settle_votes();
    }
    // Most events only move data: what they do not touch is not looked at.
    if (!is_bulk_event_ || !out_.messages.empty()) advance_parts();
    apply_fetched();
    post();
    pump();
    measure();
    leave_when_done();
    send_due_heartbeats();
    settle_votes();
}

void Peer::Core::advance_parts() {
    for (const PeerKey& peer : links_.take_restarted()) peer_lost(peer);
    for (const PeerKey& peer : links_.take_relinked()) member_.on_link_lost(peer);
    links_.advance(now_, out_.actions);
    donor_.advance(now_, own(), out_);
    catch_up_.advance(now_, out_);
    member_.advance(now_, out_);
    for (const StateCertificate& proven : std::exchange(proven_, {})) take_certificate(proven);
    adopt_when_overdue();
    const bool is_staying = leave_at_ == kNever;
    const bool has_state = is_current() || member_.phase() == round::Member::Phase::kApplying;
    depose_coordinator();
    election_.advance(now_, is_staying && has_state, out_);
    member_.follow_term(election_.term(), out_);
    certify_as_coordinator();
    if (is_staying) coordinator_.advance(now_, out_);
    const bool is_telling = coordinator_.is_telling();
    if (std::exchange(was_telling_, is_telling) && !is_telling) has_bulk_ = true;
    post();
    if (keeps_history()) {
        settlement_.advance(now_, out_);
        ask_for_history();
        offer_uncertified_state();
        want_generation();
    }
    hold_without_coordinator();
    catch_up();
    finish_when_over();
    welcome_newcomers();
}

/// This voter has waited long enough for the average that the coordinator proposes, or for a
/// decision by the other voters.
void Peer::Core::depose_coordinator() {
    const std::optional<round::Member::Refusal>& refusal = member_.refusal();
    if (!refusal || refusal->step != head().step || refusal->term != election_.term()) return;
    const PeerKey& coordinator = refusal->term.coordinator;
    const bool is_due = now_ >= refusal->since + config_.rules.failure_timeout;
    if (coordinator == self_ || !is_due || election_.is_distrusted(coordinator)) return;
    if (!election_.has_majority_without({coordinator})) return;
    election_.distrust(now_, coordinator);
    const std::string text = coordinator.brief() + " proposes, in term " +
                             std::to_string(refusal->term.number) + " for step " +
                             std::to_string(refusal->step.value()) +
                             ", an average that is not known here";
    refusal->is_other ? out_.accuse(coordinator, text) : out_.note(text);
}

/// Sends the messages; those to itself are delivered at once and may bring new ones.
void Peer::Core::post() {
    while (!out_.messages.empty()) {
        settle_votes();
        const auto messages = std::exchange(out_.messages, {});
        for (const OutgoingMessage& message : messages) deliver(message);
        if (out_.messages.empty() && leave_at_ == kNever) coordinator_.advance(now_, out_);
    }
}

void Peer::Core::deliver(const OutgoingMessage& message) {
    std::optional<membership::Links::SharedMessage> shared_message;
    bool is_ours = false;
    for (const PeerKey& to : message.to) {
        is_ours = is_ours || to == self_;
        if (to == self_ || links_.find(to) == nullptr) continue;
        if (!shared_message) shared_message = links_.shared_message(message.step, message.body);
        links_.send(to, *shared_message, out_.actions);
    }
    // Last: what we answer ourselves has a higher sequence number.
    if (!is_ours) return;
    deliver(wire::Message{.run = config_.run,
                          .generation = head().generation,
                          .step = message.step,
                          .sequence = 0,
                          .sender = self_,
                          .body = message.body});
}

/// A voter's promise is durable before any frame tells of it.
void Peer::Core::settle_votes() {
    if (const auto change = voter_.take_change()) out_.act(action::Voted{*change});
}

/// No round is decided without a majority of the voters. Trainers finish the target batch, which
/// they follow by each other's heartbeats, and hold it for the first call.
void Peer::Core::hold_without_coordinator() {
    if (election_.has_live_leader()) return;
    if (coordinator_.is_target_reached(now_)) member_.hold(out_);
}

void Peer::Core::welcome_newcomers() {
    for (const PeerKey& peer : links_.take_newcomers()) {
        told_revocations_.erase(peer);
        if (voter_.generation())
            out_.send(peer, head().step, wire::Generation{*voter_.generation()});
        // The heartbeat first: it says what we can give, the certificate makes the peer ask for it.
        out_.send(peer, head().step, heartbeat_body());
        send_certificate(peer);
        send_vote(peer);
        coordinator_.on_newcomer(peer, out_);
        forget_if_stateless(peer);
        has_bulk_ = true;
    }
}

/// The one place where an idle peer is set to work: it fetches the state that the swarm has and it
/// has not, or goes on with the one that it holds. Looked at after every event, whatever made it
/// idle.
void Peer::Core::catch_up() {
    const bool is_idle = leave_at_ == kNever && member_.phase() == round::Member::Phase::kIdle &&
                         !member_.is_handing_over();
    const bool is_resting = member_.is_resting() && head().step < config_.rules.last_step;
    if (is_resting && catch_up_.is_active()) catch_up_.stop();
    if (!is_idle || is_resting) return;
    if (config_.receives && !is_finished_) catch_up_.begin(now_, own(), out_);
    if (!catch_up_.is_active() && (!config_.receives || is_certified())) member_.resume(out_);
}

/// The trainer's state is the one that the head leads to, as far as is known.
bool Peer::Core::is_certified() const {
    if (!member_.holds_state() || member_.step() != head().step) return false;
    const StateCertificate* certificate = certificates_.at(head().step);
    return certificate == nullptr || certificate->state == member_.digest();
}

state::Own Peer::Core::own() const {
    // A state beyond the head is of a history that is void.
    const bool has_state = member_.holds_state() && member_.step() <= head().step &&
                           member_.phase() != round::Member::Phase::kApplying;
    const StepIndex step = has_state ? member_.step() : head().step;
    return {.has_state = has_state,
            .generation = head().generation,
            .step = step,
            .state = member_.digest()};
}

std::vector<state::DonorCandidate> Peer::Core::donors() const {
    std::vector<state::DonorCandidate> donors;
    for (const auto& [peer, known] : links_.known()) {
        donors.push_back({.peer = peer,
                          .generation = known.generation,
                          .step = known.step,
                          .has_state = known.heartbeat.has_state,
                          .state = known.heartbeat.state,
                          .is_voter = voter_.is_voter(peer),
                          .is_backbone = known.role == Role::kBackbone});
    }
    return donors;
}

}  // namespace dedloc
