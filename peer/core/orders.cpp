// What the project orders while a run goes on.
//
// Pauses: a counter that only rises, odd while the run is paused, with the project's signature. The
// host of the run's own backbone signs it; a peer that hears an older count in a heartbeat passes
// it on. So messages may be lost, late or repeated, a voter that was away learns it from any peer,
// and no member can pause a run. While it is paused no coordinator calls a round, and trainers stop
// and keep their sums.
//
// Mixtures: a list of changes whose version only rises, with the project's signature; otherwise as
// pauses. mixtures.md says how a change takes effect.
//
// Revocations: the voter whose host has the list sends it to every other voter, once per link and
// list. So no voter, whichever coordinates, keeps a link with a revoked peer.
#include "peer/core/core.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc {

void Peer::Core::on(const event::PauseSigned& event) {
    if (event.pause.count > pause_count() && is_signed(config_.run, config_.project, event.pause)) {
        set_paused(event.pause);
    }
}

void Peer::Core::take(const wire::Message& m, const wire::Pause& body) {
    if (body.pause.count <= pause_count()) return;
    if (!is_signed(config_.run, config_.project, body.pause)) {
        return links_.refuse(now_, m.sender, "it names a pause that the project has not signed",
                             out_.actions);
    }
    set_paused(body.pause);
}

void Peer::Core::set_paused(const SignedPause& pause) {
    pause_ = pause;
    const bool is_paused = is_paused_at(pause.count);
    out_.act(action::PauseChanged{pause});
    out_.note(is_paused ? "the run is paused" : "the run is not paused any more");
    member_.set_paused(is_paused, out_);
    coordinator_.set_paused(now_, is_paused);
    if (config_.may_begin_generations) {
        links_.broadcast(head().step, wire::Pause{pause}, out_.actions);
    }
}

void Peer::Core::on(const event::RevocationsSigned& event) {
    revocations_ = event.list;
    told_revocations_.clear();
    for (const PeerKey& voter : head().voters) tell_revocations(voter);
}

void Peer::Core::tell_revocations(const PeerKey& voter) {
    if (revocations_.empty() || voter == self_ || links_.find(voter) == nullptr) return;
    if (!told_revocations_.insert(voter).second) return;
    links_.send(voter, head().step, wire::RevocationList{revocations_}, out_.actions);
}

void Peer::Core::take(const wire::Message& m, const wire::RevocationList& body) {
    const bool is_trusted = voter_.is_voter(m.sender) || m.sender == config_.backbone;
    if (is_trusted) out_.act(action::RevocationsHeard{body.list});
}

/// A heartbeat has come from this peer.
void Peer::Core::tell_orders(const PeerKey& peer, const wire::Heartbeat& heartbeat) {
    if (heartbeat.pause_count < pause_count()) {
        links_.send(peer, head().step, wire::Pause{*pause_}, out_.actions);
    }
    if (heartbeat.mixture_version < member_.mixtures().version()) tell_mixture(peer);
    if (voter_.is_voter(peer)) tell_revocations(peer);
}

/// A list may be long, and a peer may claim again and again that it does not know it.
void Peer::Core::tell_mixture(const PeerKey& peer) {
    TimePoint& told_at = mixture_told_.try_emplace(peer, TimePoint::min()).first->second;
    if (now_ < told_at + config_.rules.heartbeat) return;
    told_at = now_;
    const Buffer list = encode_mixture(*member_.mixtures().as_signed());
    links_.send(peer, head().step, wire::Mixture{list}, out_.actions);
}

void Peer::Core::on(const event::MixtureSigned& event) {
    if (event.mixture->version <= member_.mixtures().version()) return;
    if (!fits_sources(*event.mixture, config_.sources)) return;
    if (is_signed(config_.run, config_.project, *event.mixture)) take_mixture(event.mixture);
}

void Peer::Core::take(const wire::Message& m, const wire::Mixture& body) {
    const auto mixture = decode_mixture(body.list);
    if (!mixture || !fits_sources(*mixture, config_.sources)) {
        return links_.refuse(now_, m.sender, "it sends a mixture that is none of this run",
                             out_.actions);
    }
    if (mixture->version <= member_.mixtures().version()) return;
    if (!is_signed(config_.run, config_.project, *mixture)) {
        return links_.refuse(now_, m.sender, "it names a mixture that the project has not signed",
                             out_.actions);
    }
    take_mixture(std::make_shared<const SignedMixture>(*mixture));
}

void Peer::Core::take_mixture(SharedMixture mixture) {
    const Buffer list = encode_mixture(*mixture);
    if (!member_.take_mixture(std::move(mixture), last_record(), out_)) return;
    mixture_told_.clear();
    if (config_.may_begin_generations) {
        links_.broadcast(head().step, wire::Mixture{list}, out_.actions);
    }
}

}  // namespace dedloc
