// Stragglers that the coordinator waits for before it calls: peers that are one or two steps behind
// and are fetching the decided averages.
//
// A peer that was not in a round gets its average only after the decision. If that takes longer
// than the members need for the next batch, the peer reaches every state just after the call and
// misses every round, though its link may be as good as theirs. So once the target batch is
// reached, the call waits briefly for such peers: the links are idle then, and a peer that is in
// the round gets its average together with the others.
//
// The cost is bounded, since some stragglers never arrive: a wait lasts at most one timeout for
// each step that they are behind; after a wait that timed out there is none for kRest steps; and a
// straggler is waited for once in kPause steps at first, then ever more seldom, down to once in
// kMaxPause steps. Members go on computing meanwhile, so the batch grows.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
#include "peer/membership/links.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::round {

/// Decides whether a call waits for stragglers. Belongs to the coordinator.
class Latecomers {
  public:
    /// Steps without any wait after one that timed out; first and longest interval, in steps,
    /// between two waits for the same peer.
    static constexpr StepIndex kRest{2};
    static constexpr StepIndex kPause{2};
    static constexpr StepIndex kMaxPause{64};

    /// The round that began with this state is decided.
    void decided(const Digest& state) { former_ = {state, former_[0]}; }
    /// Requires that the target batch is reached. True while the call should wait for a peer that
    /// holds one of the last two states given to decided(): at most `timeout` for each step that it
    /// is behind, counted from the first call with this head.
    /// Cost  O(links)
    [[nodiscard]] bool hold_up(TimePoint now, const Head& head, const membership::Links& links,
                               Duration timeout);
    /// The same for the stragglers `behind`, and one `timeout` altogether.
    [[nodiscard]] bool hold_up(TimePoint now, const Head& head, const std::vector<PeerKey>& behind,
                               Duration timeout);

  private:
    void await(const PeerKey& peer, StepIndex step);

    std::array<Digest, 2> former_;  ///< states before the head's, newest first; zero: unknown
    Digest record_;                 ///< last record of the head that the wait is for
    std::uint64_t generation_ = 0;
    TimePoint until_ = kNever;
    std::set<PeerKey> awaited_;
    struct Pause {
        StepIndex ends;
        StepIndex length;
    };
    std::map<PeerKey, Pause> pauses_;  ///< key: a peer that was waited for lately
    StepIndex rests_until_;
};

}  // namespace dedloc::round
