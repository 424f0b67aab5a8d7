// When too few of a view are left to decide anything, only the project can let the history go on.
// A backbone that reaches no quorum asks those that are here never to vote again in this
// generation; once those that have not said so are no quorum themselves, nothing can be decided
// any more behind its back, and it asks its host for a new generation. Voters that are neither here
// nor known to have forgotten could still decide among themselves, for as long as their lease on
// the backbone lasts (voter.hpp): then it waits until that is over.
#pragma once

#include <set>

#include "peer/membership/links.hpp"
#include "peer/membership/voter.hpp"
#include "peer/round/outbox.hpp"

namespace dedloc::membership {

class Renewal {
  public:
    Renewal(const PeerConfig& config, const PeerKey& self, const Links& links, const Voter& voter)
        : config_(config), self_(self), links_(links), voter_(voter) {}

    /// A promise never to vote again in this generation.
    void answered(const PeerKey& from, StepIndex step, const wire::Promise& promise);
    /// `has_quorum`: of the view is here and votes. `step`, `state`: what the trainer holds.
    void advance(TimePoint now, bool has_quorum, bool holds_state, StepIndex step,
                 const Digest& state, round::Outbox& out);
    /// The head has moved.
    void reset();
    TimePoint next_deadline() const { return next_; }

  private:
    bool is_safe(TimePoint now) const;
    bool has_forgotten(const PeerKey& peer) const;

    const PeerConfig& config_;
    const PeerKey self_;
    const Links& links_;
    const Voter& voter_;
    TimePoint lost_at_ = kNever;  ///< the quorum
    TimePoint next_ = kNever;
    std::set<PeerKey> renounced_;
};

}  // namespace dedloc::membership
