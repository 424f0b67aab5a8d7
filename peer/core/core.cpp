#include "peer/core/core.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "peer/base/check.hpp"

namespace dedloc {
namespace {

/// Between heartbeats that tell of something new.
constexpr Duration kMinHeartbeat = std::chrono::milliseconds{100};
/// Between reports of more samples in a swarm of so many; in larger ones as much longer as they are
/// larger, so that a coordinator of a thousand hears no more of them.
constexpr std::size_t kOftenReporting = 64;

}  // namespace

Peer::Core::Core(PeerConfig config, const KeyPair& key, const kernels::Workers& workers)
    : config_(std::move(config)),
      self_(key.public_key()),
      links_(config_, key),
      voter_(config_, key),
      election_(config_, self_, links_, voter_, Random{config_.random_seed}.split(2)),
      member_(config_, self_, voter_),
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
      upload_(config_.upload_bytes_per_second),
      download_(config_.download_bytes_per_second) {
    const auto fault = fault_of(config_.rules);
    DEDLOC_CHECK(!fault, "the rules of a run are sound", fault.value_or(""));
    DEDLOC_CHECK(config_.scalars_of != nullptr, "a peer knows the schedule: it may coordinate");
    donor_.begin(head().generation);
    last_decision_ = config_.last_decision;
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
        coordinator_.head_changed(now, false, last_record());
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
                  member_.next_deadline(), election_.next_deadline(), coordinator_.next_deadline(),
                  next_heartbeat_, next_progress_, leave_at_, overdue_at_});
    if (config_.role == Role::kBackbone) next = std::min(next, settlement_.next_deadline());
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

// --- links -------------------------------------------------------------------

void Peer::Core::on(const event::EndpointsFound& event) {
    if (!is_away_) links_.found(now_, event.endpoints, out_.actions);
}
void Peer::Core::on(const event::LinkOpened& event) {
    if (is_away_) {
        out_.act(action::Close{event.link});
    } else {
        links_.opened(now_, event, out_.actions);
    }
}
void Peer::Core::on(const event::LinkClosed& event) {
    if (const auto lost = links_.closed(now_, event, out_.actions)) peer_lost(*lost);
}
void Peer::Core::on(const event::DialFailed& event) {
    links_.dial_failed(now_, event, out_.actions);
}
void Peer::Core::on(const event::FrameWritten& event) {
    const auto written = links_.written(event);
    upload_.carried(now_, written.bytes);
    if (written.peer) pump_to(*written.peer);
    pump_released();
}
void Peer::Core::on(const event::FrameReceived& event) {
    const auto message = links_.receive(now_, event, out_.actions);
    if (!message) return;
    is_bulk_event_ = wire::is_bulk(message->body);
    if (std::holds_alternative<wire::Chunk>(message->body)) {
        download_.carried(now_, Bytes{event.frame->size()});
    }
    received_ = event.frame;
    deliver(*message);
    received_.reset();
}

void Peer::Core::peer_lost(const PeerKey& peer) {
    donor_.lost(peer);
    catch_up_.lost(now_, peer, out_);
    coordinator_.lost(peer, out_);
    settlement_.lost(peer);
    member_.link_lost(peer);
    told_.erase(peer);
    ahead_.erase(peer);
    history_sent_.erase(peer);
    election_.look_again();
    has_bulk_ = true;
    const wire::Plan* plan = member_.plan();
    if (plan == nullptr) return;
    for (const wire::ReducerEndpoint& reducer : plan->reducers) {
        if (plan->members[reducer.member.value()].peer == peer) {
            links_.reach(now_, reducer.endpoint, out_.actions);
        }
    }
}

// --- trainer and host --------------------------------------------------------

void Peer::Core::on(const event::Progressed& event) {
    member_.progressed(event);
    if (event.step == head().step) {
        coordinator_.reported(now_, self_, event.step, event.samples, event.samples_per_second);
    }
    is_progress_due_ = true;
}
void Peer::Core::on(const event::ContributionFrozen& event) {
    member_.frozen(event, out_);
}
void Peer::Core::on(const event::StateReached& event) {
    catch_up_.reached(now_, event.step, event.digest, out_);
    member_.state_reached(event, out_);
    donor_.reached(now_, own(), out_);
    settlement_.reported(self_, event.step, event.digest);
    coordinator_.reported(now_, self_, event.step, Samples{0}, member_.samples_per_second());
    // Before the certificate, which makes peers that are behind ask for what we have.
    send_heartbeat(Audience::kAll);
    certify_own_state();
}
void Peer::Core::on(const event::StateRefused&) {
    out_.note("the state that was fetched has another digest than was promised");
    catch_up_.refused(now_, out_);
}
void Peer::Core::on(const event::SnapshotTaken& event) {
    donor_.snapshot_taken(now_, event, own(), out_);
    catch_up_.own_snapshot(now_, event, out_);
}
/// The swarm may have moved on since it was asked for: then another one is, with the next number.
void Peer::Core::on(const event::GenerationSigned& event) {
    const GenerationRecord& record = event.generation.record;
    pause_until_ = next_generation_ = now_;
    const bool is_held = member_.holds_state() && member_.step() == record.step &&
                         member_.digest() == record.state &&
                         member_.phase() != round::Member::Phase::kApplying;
    if (!is_held || record.step > head().step) {
        return out_.note("generation " + std::to_string(record.generation) +
                         " is dropped: the swarm has gone on since it was asked for");
    }
    begin_generation(event.generation);
}
void Peer::Core::on(const event::VotersWanted& event) {
    wanted_voters_ = event.voters;
    wanted_generation_ = event.min_generation;
    next_generation_ = TimePoint::min();
}

void Peer::Core::on(const event::LeaveRequested&) {
    if (is_away_ || leave_at_ != kNever) return;
    // In a round it may finish its sends; else there is nothing to wait for.
    const bool has_sends = member_.is_in_round() && member_.plan() != nullptr;
    leave_at_ = has_sends ? now_ + config_.rules.leave_limit : now_;
    if (has_sends) {
        member_.release_all();
    } else {
        member_.outdated(out_);
    }
    catch_up_.reset();
}
void Peer::Core::on(const event::ReturnRequested&) {
    leave_at_ = kNever;
    is_away_ = false;
    if (member_.phase() == round::Member::Phase::kIdle) member_.resume(out_);
}

void Peer::Core::leave_when_done() {
    if (leave_at_ == kNever) return;
    const bool is_done = !member_.has_due_chunks() && links_.queued_bytes() == 0;
    if (now_ < leave_at_ && !(is_done && member_.is_in_round())) return;
    leave_at_ = kNever;
    is_away_ = true;
    member_.outdated(out_);
    links_.broadcast(head().step, wire::Leave{}, out_.actions);
    links_.leave_all(out_.actions);
    election_.reset();
    catch_up_.reset();
    donor_.reset();
    settlement_.reset();
    out_.messages.clear();
    out_.act(action::Left{});
}

// --- after every event -------------------------------------------------------

void Peer::Core::follow_up() {
    if (is_away_) return settle_votes();
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
    for (const PeerKey& peer : links_.take_relinked()) member_.link_lost(peer);
    links_.advance(now_, out_.actions);
    donor_.advance(now_, own(), out_);
    catch_up_.advance(now_, out_);
    member_.advance(now_, out_);
    for (const StateCertificate& proven : std::exchange(proven_, {})) take_certificate(proven);
    adopt_when_overdue();
    const bool is_staying = leave_at_ == kNever;
    const bool has_state = is_current() || member_.phase() == round::Member::Phase::kApplying;
    election_.advance(now_, is_staying && has_state, out_);
    certify_as_coordinator();
    if (is_staying) coordinator_.advance(now_, out_);
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
    std::optional<membership::Links::Circular> circular;
    bool is_ours = false;
    for (const PeerKey& to : message.to) {
        is_ours = is_ours || to == self_;
        if (to == self_ || links_.find(to) == nullptr) continue;
        if (!circular) circular = links_.circular(message.step, message.body);
        links_.send(to, *circular, out_.actions);
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

/// What this peer has promised is remembered before anybody hears of it.
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
        if (voter_.generation())
            out_.send(peer, head().step, wire::Generation{*voter_.generation()});
        // The heartbeat first: it says what we can give, the certificate makes the peer ask for it.
        out_.send(peer, head().step, heartbeat_body());
        send_certificate(peer);
        coordinator_.on_newcomer(peer, out_);
        has_bulk_ = true;
    }
}

void Peer::Core::catch_up() {
    const bool is_idle = config_.receives && !is_finished_ && leave_at_ == kNever &&
                         member_.phase() == round::Member::Phase::kIdle;
    if (!is_idle) return;
    catch_up_.begin(now_, own(), out_);
    if (!catch_up_.is_active() && is_certified()) member_.resume(out_);
}

/// The trainer's state is the one that the head leads to, as far as is known.
bool Peer::Core::is_certified() const {
    if (!member_.holds_state() || member_.step() != head().step) return false;
    const auto certificate = certificates_.find(head().step);
    return certificate == certificates_.end() || certificate->second.state == member_.digest();
}

// --- bulk --------------------------------------------------------------------

void Peer::Core::pump() {
    if (member_.take_has_more()) has_bulk_ = true;
    if (!std::exchange(has_bulk_, false)) return;
    for (const auto& [peer, known] : links_.known()) pump_to(peer);
    pump_released();
}

/// What one peer gets may free another.
void Peer::Core::pump_released() {
    for (auto peers = member_.take_released(); !peers.empty(); peers = member_.take_released()) {
        for (const PeerKey& peer : peers) pump_to(peer);
    }
}

void Peer::Core::pump_to(const PeerKey& peer) {
    const wire::LinkKind link = links_.kind_of(peer);
    const auto seal = [this, link](StepIndex step, wire::Body body) {
        return links_.seal(step, std::move(body), link);
    };
    // A round's data first: donating never delays a round.
    while (member_.has_next(peer)) {
        if (!links_.has_room(peer, member_.window_bytes())) return;
        const Frame frame = member_.next_frame(now_, peer, link, seal);
        if (!frame || !links_.send_sealed(peer, frame, out_.actions)) return;
        upload_.begin(now_);
    }
    // Then a leaf at a time: what a slow uplink has before it is what a heartbeat waits for.
    while (links_.has_room(peer, wire::kLeafBytes)) {
        auto leaf = donor_.next(now_, peer);
        if (!leaf) return;
        const Frame frame = seal(head().step, *std::move(leaf));
        if (!links_.send_sealed(peer, frame, out_.actions)) return;
    }
}

void Peer::Core::measure() {
    if (links_.queued_bytes() == 0) upload_.pause(now_);
    if (member_.phase() == round::Member::Phase::kReducing) {
        download_.begin(now_);
    } else {
        download_.pause(now_);
    }
}

// --- heartbeats --------------------------------------------------------------

void Peer::Core::send_due_heartbeats() {
    if (is_away_) return;
    const std::size_t members =
        last_decision_ ? last_decision_->record.members.size() : links_.known().size();
    const bool is_watched_anew = links_.watch(head().voters, members, election_.has_live_leader());
    if (is_watched_anew || standing() != told_standing_) is_heartbeat_due_ = true;
    const TimePoint soonest = last_heartbeat_ + kMinHeartbeat;
    if (is_heartbeat_due_) next_heartbeat_ = std::min(next_heartbeat_, soonest);
    if (now_ >= next_heartbeat_) {
        return send_heartbeat(is_heartbeat_due_ ? Audience::kSmallSwarm : Audience::kWatched);
    }
    if (!is_progress_due_) return;
    const auto crowd =
        static_cast<Duration::rep>(std::max<std::size_t>(1, members / kOftenReporting));
    next_progress_ = last_heartbeat_ + std::min(kMinHeartbeat * crowd, config_.rules.heartbeat);
    if (now_ >= next_progress_) report_progress();
}

/// The coordinator waits for samples, and every voter may be the next one.
void Peer::Core::report_progress() {
    is_progress_due_ = false;
    next_progress_ = kNever;
    last_heartbeat_ = now_;
    for (const PeerKey& voter : head().voters) {
        links_.send(voter, head().step, heartbeat_body(), out_.actions);
    }
    if (links_.is_watched_by_voters_only()) next_heartbeat_ = now_ + config_.rules.heartbeat;
}

Peer::Core::Standing Peer::Core::standing() const {
    return {.has_state = is_current(),
            .may_vote = voter_.may_vote(),
            .term = election_.has_live_leader() ? election_.term() : Term{}};
}

wire::Heartbeat Peer::Core::heartbeat_body() const {
    const Standing standing = this->standing();
    return {.has_state = standing.has_state,
            .state = member_.digest(),
            .record = head().record,
            .samples = member_.samples(),
            .samples_per_second = member_.samples_per_second(),
            .upload_bytes_per_second = upload_.bytes_per_second(),
            .download_bytes_per_second = download_.bytes_per_second(),
            .is_frozen = member_.is_in_round(),
            .may_vote = standing.may_vote,
            .term = standing.term,
            .attempt = member_.last_plan() != nullptr ? member_.last_plan()->attempt : 0};
}

/// Everybody hears of a new state, for they may want it; in a small swarm, of whatever is new.
void Peer::Core::send_heartbeat(Audience audience) {
    told_standing_ = standing();
    is_heartbeat_due_ = is_progress_due_ = false;
    next_progress_ = kNever;
    last_heartbeat_ = now_;
    next_heartbeat_ = now_ + config_.rules.heartbeat;
    if (is_away_) return;
    if (audience == Audience::kAll) {
        links_.broadcast(head().step, heartbeat_body(), out_.actions);
    } else {
        const bool is_news = audience == Audience::kSmallSwarm;
        links_.broadcast_heartbeat(head().step, heartbeat_body(), is_news, out_.actions);
    }
    if (config_.role == Role::kBackbone) report_swarm();
}

void Peer::Core::report_swarm() {
    action::SwarmSeen seen{.step = head().step,
                           .samples = member_.samples(),
                           .coordinator = election_.term().coordinator,
                           .seats = {}};
    for (const auto& [peer, known] : links_.known()) {
        const wire::Heartbeat& heartbeat = known.heartbeat;
        if (known.step == seen.step) seen.samples += heartbeat.samples;
        seen.seats.push_back({.peer = peer,
                              .role = known.role,
                              .result_name = known.result_name,
                              .endpoint = known.endpoint,
                              .has_state = heartbeat.has_state,
                              .step = known.step,
                              .digest = heartbeat.state,
                              .samples = heartbeat.samples,
                              .samples_per_second = heartbeat.samples_per_second});
    }
    out_.act(std::move(seen));
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
                          .is_voter = voter_.is_voter(peer)});
    }
    return donors;
}

}  // namespace dedloc
