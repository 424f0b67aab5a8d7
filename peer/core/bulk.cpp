// Bulk data: chunks of the round and leaves for peers that are behind. They wait in the parts that
// own them until their link has window for them, so a round's chunks always go before donations and
// an election or heartbeat never queues behind more than a window. A coordinator sends none while
// the plan is still to be sent to some peers: no chunk is averaged without them. Also here: the
// rates of the links, measured while bulk is under way.
#include <chrono>

#include "peer/core/core.hpp"

namespace dedloc {

void Peer::Core::pump() {
    if (member_.take_has_more()) has_bulk_ = true;
    const std::vector<PeerKey> opened = member_.take_opened();
    if (std::exchange(has_bulk_, false)) {
        for (const auto& [peer, known] : links_.known()) pump_to(peer);
    } else {
        for (const PeerKey& peer : opened) pump_to(peer);
    }
    pump_released();
}

/// What one peer gets may free another.
void Peer::Core::pump_released() {
    for (auto peers = member_.take_released(); !peers.empty(); peers = member_.take_released()) {
        for (const PeerKey& peer : peers) pump_to(peer);
    }
}

void Peer::Core::pump_to(const PeerKey& peer) {
    if (coordinator_.is_telling()) return;
    if (!member_.has_next(peer) && !donor_.has_next(peer)) return;
    const wire::LinkKind link = links_.kind_of(peer);
    const auto seal = [this, link](StepIndex step, wire::Body body) {
        return links_.seal(step, std::move(body), link);
    };
    // A round's data first: donating never delays a round.
    while (member_.has_next(peer)) {
        if (!links_.has_space(peer, member_.window_bytes())) return;
        const Frame frame = member_.next_frame(now_, peer, link, seal);
        if (!frame || !links_.send_sealed(peer, frame, out_.actions)) return;
        upload_.begin(now_);
    }
    // Then a leaf at a time: what a slow uplink has before it is what a heartbeat waits for.
    while (links_.has_space(peer, wire::kLeafBytes)) {
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

bool Peer::Core::is_in_time() const {
    constexpr Duration kMessages = std::chrono::seconds{1};
    const wire::Plan* plan = member_.last_plan();
    if (plan == nullptr || plan->expected == Duration{}) return false;
    return now_ - planned_at_ <= plan->expected + plan->expected / 4 + kMessages;
}

/// A round that was cancelled says as much about the links as another one.
void Peer::Core::round_measured(progress::LinkRate::Outcome outcome) {
    if (config_.measures_bandwidth) {
        upload_.end(now_, outcome);
        download_.end(now_, outcome);
    }
    bandwidth_measured();
}

void Peer::Core::bandwidth_measured() {
    member_.set_bandwidth(upload_.estimate(), download_.estimate());
    donor_.set_upload(upload_.estimate());
}

void Peer::Core::take(const wire::Message& m, const wire::StateQuery& body) {
    donor_.queried(now_, m.sender, m.generation, m.step, body, own(), out_);
}
void Peer::Core::take(const wire::Message& m, const wire::StateOffer& body) {
    catch_up_.offered(now_, m.sender, m.step, body, out_);
}
void Peer::Core::take(const wire::Message& m, const wire::RoundOffer& body) {
    catch_up_.offered(now_, m.sender, m.step, body, out_);
}
void Peer::Core::take(const wire::Message& m, const wire::LeafRequest& body) {
    donor_.requested(now_, m.sender, body);
    pump_to(m.sender);
}
void Peer::Core::take(const wire::Message& m, const wire::Leaf& body) {
    catch_up_.received(now_, m.sender, body, out_);
}

}  // namespace dedloc
