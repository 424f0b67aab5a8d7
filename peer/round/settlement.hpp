// What a backbone tells its host of the state after each commit: how many of the commit's members
// have reported it, and how many of these the same digest.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "peer/config.hpp"
#include "peer/outbox.hpp"

namespace dedloc::round {

class Settlement {
  public:
    Settlement(const PeerConfig& config, const PeerKey& self) : config_(config), self_(self) {}

    /// A round is decided. One that has not settled yet settles now.
    void decided(TimePoint now, const CommitRecord& record, Outbox& out);
    /// A member's heartbeat, or our own state.
    void reported(const PeerKey& from, StepIndex step, const Digest& state);
    void lost(const PeerKey& peer) { waiting_.erase(peer); }
    void advance(TimePoint now, Outbox& out);
    TimePoint next_deadline() const;
    bool is_waiting() const { return step_.has_value(); }
    void reset() { step_.reset(); }

  private:
    void settle(Outbox& out);

    const PeerConfig& config_;
    const PeerKey self_;
    std::uint64_t generation_ = 0;
    std::optional<StepIndex> step_;  ///< of the state that is waited for
    std::set<PeerKey> waiting_;
    std::map<PeerKey, Digest> states_;
    TimePoint deadline_ = kNever;
};

}  // namespace dedloc::round
