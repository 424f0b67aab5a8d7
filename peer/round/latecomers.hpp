// Decides whether the coordinator delays a Call for stragglers: peers that are one or two steps
// behind and are still fetching the decided averages.
//
// A peer that has missed a round fetches its average after the decision. If that takes longer than
// the members need for the next batch, the peer reaches every state just after the Call and misses
// every round, even if its link is as good as theirs. So once the target batch is reached, the Call
// waits briefly for such peers: links are idle then, and a peer that is in the round gets its
// average together with the others.
//
// Some stragglers never arrive, so waiting is bounded. A wait lasts at most one timeout for each
// step that they are behind. After a wait that has timed out there is none for kRest steps. The
// interval between two waits for the same straggler is kPause steps at first and doubles each time,
// up to kMaxPause. Trainers compute during a wait, so the batch grows.
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

/// Delays calls for stragglers. Belongs to the coordinator.
class Latecomers {
  public:
    /// Steps without a wait after one that has timed out.
    static constexpr StepIndex kRest{2};
    /// First interval between two waits for the same peer, in steps.
    static constexpr StepIndex kPause{2};
    /// Longest interval between two waits for the same peer, in steps.
    static constexpr StepIndex kMaxPause{64};

    /// The round whose members computed on this state is decided.
    void on_decision(const Digest& state) { former_ = {state, former_[0]}; }
    /// True while the Call should wait for a peer that holds one of the last two states given to
    /// on_decision(): at most `timeout` for each step that it is behind, from the first call of
    /// this function with this head on. Requires that the target batch is reached.
    /// `ignored`: peers that are not waited for.      Cost  O(links)
    [[nodiscard]] bool hold_up(TimePoint now, const Head& head, const membership::Links& links,
                               Duration timeout, const std::set<PeerKey>& ignored = {});
    /// The same for the stragglers `behind`, with one `timeout` for all of them.
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
    std::map<PeerKey, Pause> pauses_;  ///< key: a peer that a recent Call has waited for
    StepIndex rests_until_;
};

}  // namespace dedloc::round
