// When too few of a view are left to decide anything, only the project can let the history go on.
// A backbone that reaches no quorum asks those that are here never to vote again in this
// generation; once those that have not said so are no quorum themselves, nothing can be decided
// any more behind its back, and it asks its host for a new generation. Voters that are neither here
// nor known to have forgotten could still decide among themselves, for as long as their lease on
// the backbone lasts (voter.hpp): then it waits until that is over. The same when nobody who comes
// holds the state that was decided last, as after a power cut that only an older checkpoint has
// survived; then it waits longer, for somebody may still come back with it.
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
    struct Situation {
        bool has_quorum = false;   ///< of the view is here and votes
        bool is_held = false;      ///< the state of the head is held by somebody here
        bool holds_state = false;  ///< the trainer has one, `state` of `step`
        StepIndex step;
        Digest state;
    };
    void advance(TimePoint now, const Situation& situation, round::Outbox& out);
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
