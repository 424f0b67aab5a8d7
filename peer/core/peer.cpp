// Peer forwards to Core, so that users of peer.hpp see none of the parts.
#include "peer/peer.hpp"

#include <utility>

#include "peer/core/core.hpp"

namespace dedloc {

Peer::Peer(PeerConfig config, const KeyPair& key, const kernels::Workers& workers)
    : core_(std::make_unique<Core>(std::move(config), key, workers)) {}
Peer::~Peer() = default;
void Peer::handle(TimePoint now, const Event& event, Actions& actions) {
    core_->handle(now, event, actions);
}
bool Peer::work_ahead() {
    return core_->work_ahead();
}
std::uint64_t Peer::digested_bytes() const {
    return core_->digested_bytes();
}

TimePoint Peer::next_deadline() const {
    return core_->next_deadline();
}
SharedFloats Peer::residual() const {
    return core_->residual();
}
void Peer::check_invariants() const {
    core_->check_invariants();
}

}  // namespace dedloc
