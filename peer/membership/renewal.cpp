#include "peer/membership/renewal.hpp"

#include <vector>

#include "peer/membership/quorum.hpp"

namespace dedloc::membership {
namespace {

// In silence limits. Those that reach a quorum have time to elect one of them, with whom the head
// moves: a leader without a quorum steps down after two, and whoever defers to us after one more.
constexpr int kPatience = 4;
constexpr int kPatienceForState = 12;

}  // namespace

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

void Renewal::advance(TimePoint now, const Situation& situation, round::Outbox& out) {
    // Who has renounced itself has to go through with it.
    const bool has_begun = voter_.promised().number == kLastTerm;
    const bool can_go_on = situation.has_quorum && situation.is_held && !has_begun;
    if (can_go_on || !situation.holds_state) return reset();
    if (lost_at_ == kNever) {
        lost_at_ = now;
        const int patience = situation.is_held ? kPatience : kPatienceForState;
        next_ = now + patience * config_.rules.silence;
    }
    if (now < next_) return;
    next_ = now + config_.rules.silence;
    for (const PeerKey& peer : voter_.head().view) {
        if (renounced_.contains(peer)) continue;
        out.send(peer, voter_.head().step,
                 wire::Elect{.term = {.number = kLastTerm, .coordinator = self_}});
    }
    if (!is_safe(now)) return;
    out.note("too few are left to decide, or to go on from: a new generation is wanted");
    out.act(action::GenerationWanted{{.generation = voter_.head().generation + 1,
                                      .step = situation.step,
                                      .state = situation.state,
                                      .backbone = self_}});
}

void Renewal::reset() {
    lost_at_ = next_ = kNever;
    renounced_.clear();
}

}  // namespace dedloc::membership
