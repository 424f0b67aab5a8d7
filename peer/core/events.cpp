// Events from the network, the trainer and the host, routed to the parts that they concern. A peer
// that is away (suspended) takes events but sends nothing.
#include <utility>
#include <variant>

#include "peer/core/core.hpp"

namespace dedloc {

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
    coordinator_.on_link_lost(now_, peer, out_);
    settlement_.on_link_lost(peer);
    member_.on_link_lost(peer);
    told_.erase(peer);
    mixture_told_.erase(peer);
    forgeries_.erase(peer);
    missed_.lost(peer);
    election_.count_again();
    has_bulk_ = true;
    const wire::Plan* plan = member_.plan();
    if (plan == nullptr) return;
    for (const wire::ReducerEndpoint& reducer : plan->reducers) {
        if (plan->members[reducer.member.value()].peer == peer) {
            links_.reach(now_, reducer.endpoint, out_.actions);
        }
    }
}

void Peer::Core::on(const event::Progressed& event) {
    member_.on_progress(event, out_);
    // With overlap, what is computed during a round counts once the next state is reached.
    const bool is_ahead = config_.rules.overlaps && member_.is_in_round();
    if (event.step == head().step && !is_ahead) {
        coordinator_.on_report(now_, self_, event.step, event.samples, event.samples_per_second);
    }
    is_progress_due_ = true;
}

void Peer::Core::on(const event::ContributionFrozen& event) {
    member_.on_frozen(event, out_);
}

void Peer::Core::on(const event::StateReached& event) {
    catch_up_.reached(now_, event.step, event.digest, out_);
    if (!member_.awaits(event)) return;
    member_.on_state(event, out_);
    donor_.reached(now_, own(), out_);
    settlement_.on_report(self_, event.step, event.digest);
    // The update was under way when this peer left, or when the trainer was given another state.
    if (is_away_ || catch_up_.is_loading()) member_.give_up(out_);
    const bool is_working = member_.phase() == round::Member::Phase::kWorking;
    coordinator_.on_report(now_, self_, event.step, is_working ? member_.samples() : Samples{0},
                           member_.samples_per_second());
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

void Peer::Core::on(const event::LeaveRequested&) {
    if (is_away_ || leave_at_ != kNever) return;
    // A member of a round may finish its sends; otherwise it leaves at once.
    const bool has_sends = member_.is_in_round() && member_.plan() != nullptr;
    leave_at_ = has_sends ? now_ + config_.rules.leave_limit : now_;
    if (has_sends) {
        member_.release_all();
    } else {
        member_.give_up(out_);
    }
    catch_up_.stop();
}

/// catch_up() finds out what is missing by now.
void Peer::Core::on(const event::ReturnRequested&) {
    leave_at_ = kNever;
    is_away_ = false;
    if (const auto held = std::exchange(held_call_, {})) {
        member_.on_call(held->first, held->second, out_);
    }
}

void Peer::Core::on(const event::ListeningPortChanged& event) {
    links_.set_listening_port(event.port);
}

void Peer::Core::leave_when_done() {
    if (leave_at_ == kNever) return;
    const bool is_done = !member_.has_due_chunks() && links_.queued_bytes() == 0;
    if (now_ < leave_at_ && !(is_done && member_.is_in_round())) return;
    leave_at_ = kNever;
    is_away_ = true;
    held_call_.reset();
    member_.give_up(out_);
    links_.broadcast(head().step, wire::Leave{}, out_.actions);
    election_.reset();
    coordinator_.advance(now_, out_);  // not ours any more
    for (const PeerKey& peer : links_.leave_all(out_.actions)) peer_lost(peer);
    donor_.reset();
    settlement_.reset();
    out_.messages.clear();
    out_.act(action::Left{});
}

}  // namespace dedloc
