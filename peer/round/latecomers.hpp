// Whom a call waits for: who is a step or two behind, and fetches what was decided.
//
// Who was not in a round gets its average only when it is decided. Where that takes longer than the
// members need for the next batch, it would hold each state just after the call, and never be in a
// round, though its link may be as good as theirs. So once the target is reached the call waits
// for such peers a little: links are idle then, and who is in a round gets its average with all
// others.
//
// What that may cost is bounded, for some never come: none is waited for longer than the caller's
// patience for each step that it is behind, none for kRest steps after a wait in vain, and each at
// first once in kPause steps and then, the oftener it was waited for, up to once in kMaxPause.
// Members compute meanwhile: the batch grows.
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

class Latecomers {
  public:
    static constexpr StepIndex kRest{2};
    static constexpr StepIndex kPause{2};
    static constexpr StepIndex kMaxPause{64};

    /// A round that began with this state is decided.
    void decided(const Digest& state) { former_ = {state, former_[0]}; }
    /// The target is reached: is there anybody to wait for, of those who hold one of the last two
    /// of these states? For `patience` a step at most, from the first look at this head on.
    /// Cost  O(links)
    [[nodiscard]] bool hold_up(TimePoint now, const Head& head, const membership::Links& links,
                               Duration timeout);
    /// The same, of those who are `behind`.
    [[nodiscard]] bool hold_up(TimePoint now, const Head& head, const std::vector<PeerKey>& behind,
                               Duration timeout);

  private:
    void await(const PeerKey& peer, StepIndex step);

    std::array<Digest, 2> former_;  ///< the newest first; zeros: not known
    Digest record_;                 ///< of the head that is looked at
    std::uint64_t generation_ = 0;
    TimePoint until_ = kNever;
    std::set<PeerKey> awaited_;
    struct Pause {
        StepIndex ends;
        StepIndex length;
    };
    std::map<PeerKey, Pause> pauses_;  ///< of those that were awaited lately
    StepIndex rests_until_;
};

}  // namespace dedloc::round
