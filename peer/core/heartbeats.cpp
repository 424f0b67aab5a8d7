// Heartbeats: when they are due, what they say, and what is concluded from those of other peers.
//
// Voters exchange one a second with every peer. Between other pairs a heartbeat is sent when there
// is news: a state reached, a vote gained or lost, another coordinator. More samples are news to
// voters only, and in large swarms less often, so that a coordinator's load does not grow with the
// swarm.
#include <algorithm>
#include <chrono>
#include <utility>

#include "peer/core/core.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc {
namespace {

/// Minimum time between heartbeats that tell news.
constexpr Duration kMinHeartbeat = std::chrono::milliseconds{100};
/// Swarm size up to which more samples are reported after kMinHeartbeat; in larger swarms the pause
/// grows in proportion, so a coordinator receives no more reports than in a swarm of this size.
constexpr std::size_t kOftenReporting = 64;

}  // namespace

void Peer::Core::send_due_heartbeats() {
    if (is_away_) return;
    const std::size_t members =
        last_decision_ ? last_decision_->record.members.size() : links_.known().size();
    const bool is_watched_anew = links_.watch(head().voters, members, election_.has_live_leader());
    if (is_watched_anew || announcement() != announced_) is_heartbeat_due_ = true;
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

Peer::Core::Announcement Peer::Core::announcement() const {
    return {.has_state = is_current(),
            .may_vote = voter_.may_vote(),
            .term = election_.has_live_leader() ? election_.term() : Term{},
            .pause_count = pause_count(),
            .mixture_version = member_.mixtures().version(),
            .listening_port = links_.listening_port()};
}

wire::Heartbeat Peer::Core::heartbeat_body() const {
    const Announcement announcement = this->announcement();
    return {.has_state = announcement.has_state,
            .state = member_.digest(),
            .record = head().record,
            .samples = member_.samples(),
            .samples_per_second = member_.samples_per_second(),
            .upload = upload_.estimate(),
            .download = download_.estimate(),
            .is_frozen = member_.is_in_round(),
            .may_vote = announcement.may_vote,
            .term = announcement.term,
            .attempt = member_.last_plan() != nullptr ? member_.last_plan()->attempt : 0,
            .pause_count = announcement.pause_count,
            .listening_port = announcement.listening_port,
            .round = std::clamp(std::chrono::floor<std::chrono::milliseconds>(catch_up_.round()),
                                std::chrono::milliseconds{0},
                                std::chrono::milliseconds{wire::kMaxRoundMilliseconds}),
            .mixture_version = announcement.mixture_version};
}

/// A new state is told to every peer, because it may want to load it; other news to every peer of a
/// small swarm, and to voters in a large one.
void Peer::Core::send_heartbeat(Audience audience) {
    announced_ = announcement();
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
                              .user = known.user,
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

/// What a heartbeat claims moves no head: a peer that is behind is told, one ahead has to prove it.
void Peer::Core::take(const wire::Message& m, const wire::Heartbeat& body) {
    if (m.generation < head().generation) {
        out_.send(m.sender, head().step, wire::Generation{*voter_.generation()});
        return;
    }
    if (m.generation > head().generation) return;  // its Generation follows
    tell_orders(m.sender, body);
    if (voter_.is_voter(m.sender)) catch_up_.told_round(m.sender, body.round);
    if (body.term.coordinator == m.sender) election_.on_coordinator(body.term, out_);
    if (body.has_state) {
        coordinator_.on_report(now_, m.sender, m.step, body.samples, body.samples_per_second);
        settlement_.on_report(m.sender, m.step, body.state);
        catch_up_.heard(now_, m.sender);
    }
    coordinator_.on_heartbeat(now_, m.sender, body, out_);
    if (m.step < head().step) tell_if_behind(m, body);
    if (m.step > head().step) note_ahead(m.sender);
}

/// The coordinator's business; of a peer that hears no coordinator, or without one, every peer's.
void Peer::Core::tell_if_behind(const wire::Message& m, const wire::Heartbeat& body) {
    const bool is_mine = election_.is_leading() || !election_.has_live_leader() ||
                         body.term.coordinator == PeerKey{};
    // The Commit may still be under way to it, unless it was sent to others only.
    const bool is_overdue = now_ >= decided_at_ + config_.rules.heartbeat / 2 ||
                            (election_.is_leading() && !was_addressed(m.sender));
    if (is_mine && is_overdue && !links_.is_crowded()) tell_decision(m.sender, m.step);
}

}  // namespace dedloc
