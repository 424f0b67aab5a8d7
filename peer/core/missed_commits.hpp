// Which commits a keeper of history asks for, from which peer, and how often it answers others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>

#include "peer/base/units.hpp"
#include "peer/wire/types.hpp"

namespace dedloc {

/// A keeper asks one peer at a time, a different one each time, because one of them may have lost
/// its ledger; again after `pause`, or soon if the last answer was full or has brought all commits
/// that were known to be missing.
class MissedCommits final {
  public:
    /// `pause`: between two queries that bring nothing.
    explicit MissedCommits(Duration pause) : pause_(pause) {}

    /// A voter says that it is at `step`, beyond our head.
    void note_ahead(const PeerKey& voter, StepIndex step) { ahead_[voter] = step; }
    /// Voters at or below this step are not ahead any more.
    void head_moved(StepIndex head);
    /// A link is gone.
    void lost(const PeerKey& peer);
    /// A new generation has begun: nothing that was heard before counts.
    void clear() { ahead_.clear(); }
    /// Ask at the next occasion, whenever the last query was.
    void ask_now(TimePoint now) { next_query_ = now; }

    /// The peer to ask now, if any: a voter that is ahead, else one of `others`.
    std::optional<PeerKey> peer_to_ask(TimePoint now, std::span<const PeerKey> others);
    /// A commit that was asked for has arrived.
    void received();
    /// When a voter that is ahead is asked; kNever: none is.
    TimePoint next_deadline() const;

    /// Whether a query of this keeper is answered now: each answer reads the ledger, so there is a
    /// minimum time between two.
    bool may_answer(TimePoint now, const PeerKey& keeper);

  private:
    void ask_soon() { next_query_ = std::min(next_query_, soonest_query_); }

    const Duration pause_;
    std::map<PeerKey, StepIndex> ahead_;  ///< voters that say so
    TimePoint next_query_ = TimePoint::min();
    TimePoint soonest_query_ = TimePoint::min();
    std::size_t received_ = 0;               ///< commits since the last query
    std::map<PeerKey, TimePoint> answered_;  ///< keepers that have asked us
};

}  // namespace dedloc
