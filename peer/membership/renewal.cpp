#include "peer/membership/renewal.hpp"

#include <vector>

#include "peer/membership/quorum.hpp"

namespace dedloc::membership {

void Renewal::answered(const PeerKey& from, StepIndex step, const wire::Promise& promise) {
    const bool is_last = promise.term == Term{.number = kLastTerm, .coordinator = self_};
    if (is_last && promise.granted && step == voter_.head().step) renounced_.insert(from);
}

/// A peer of the view that has restarted: who may vote was ready for the round before.
bool Renewal::has_forgotten(const PeerKey& peer) const {
    const Known* known = links_.find(peer);
    if (known == nullptr || !known->has_reported) return false;
    const Head& head = voter_.head();
    if (known->generation != head.generation) return known->generation < head.generation;
    return known->step.next() < head.step ||
           (known->step == head.step && !known->heartbeat.may_vote);
}

bool Renewal::is_safe(TimePoint now) const {
    const Duration lease = config_.rules.backbone_absence;
    if (now >= lost_at_ + lease + lease / 4) return true;
    std::vector<PeerKey> silent;
    for (const PeerKey& peer : voter_.head().view) {
        const bool is_out = peer == self_ ? !voter_.may_vote() || renounced_.contains(peer)
                                          : renounced_.contains(peer) || has_forgotten(peer);
        if (!is_out) silent.push_back(peer);
    }
    return !is_quorum(voter_.head().view, config_.backbone, silent);
}

void Renewal::advance(TimePoint now, bool has_quorum, bool holds_state, StepIndex step,
                      const Digest& state, round::Outbox& out) {
    // Who has renounced itself has to go through with it.
    const bool has_begun = voter_.promised().number == kLastTerm;
    if ((has_quorum && !has_begun) || !holds_state) return reset();
    if (lost_at_ == kNever) {
        lost_at_ = now;
        next_ = now + 2 * config_.rules.silence;
    }
    if (now < next_) return;
    next_ = now + config_.rules.silence;
    for (const PeerKey& peer : voter_.head().view) {
        if (renounced_.contains(peer)) continue;
        out.send(peer, voter_.head().step,
                 wire::Elect{.term = {.number = kLastTerm, .coordinator = self_}});
    }
    if (!is_safe(now)) return;
    out.note("too few of the view are left to decide: a new generation is wanted");
    out.act(action::GenerationWanted{{.generation = voter_.head().generation + 1,
                                      .step = step,
                                      .state = state,
                                      .backbone = self_}});
}

void Renewal::reset() {
    lost_at_ = next_ = kNever;
    renounced_.clear();
}

}  // namespace dedloc::membership
