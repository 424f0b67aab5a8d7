// The backbone's count, after each commit, of the members that have reached the new state: how many
// have reported a digest, and how many of them the same digest as the backbone. The result goes to
// the host (action::Settled).
#pragma once

#include <map>
#include <optional>
#include <set>

#include "peer/config.hpp"
#include "peer/outbox.hpp"

namespace dedloc::round {

/// Counts the states reported after the last decided round.
class Settlement {
  public:
    /// Keeps a reference to `config`, which must outlive it.
    Settlement(const PeerConfig& config, const PeerKey& self) : config_(config), self_(self) {}

    /// A round is decided: settles the round before, if it has not settled yet, and starts to count
    /// for this one.
    void on_decision(TimePoint now, const CommitRecord& record, Outbox& out);
    /// A member's heartbeat, or our own state.
    void on_report(const PeerKey& from, StepIndex step, const Digest& state);
    /// The peer is not linked any more: its report is not waited for.
    void on_link_lost(const PeerKey& peer) { waiting_.erase(peer); }
    /// Settles when all members have reported, or join_timeout after the decision, but not before
    /// our own state is known.
    void advance(TimePoint now, Outbox& out);
    /// When advance() must be called next; kNever: not before another event.
    TimePoint next_deadline() const;
    /// A decided round has not settled yet.
    bool is_waiting() const { return step_.has_value(); }
    /// A generation begins at this step: a count for it ends with the reports until now, and that
    /// for a step that is void now is dropped.
    void restart(StepIndex from, Outbox& out);
    /// Drops the count without a result.
    void reset() { step_.reset(); }

  private:
    void settle(Outbox& out);

    const PeerConfig& config_;
    const PeerKey self_;
    std::uint64_t generation_ = 0;
    std::optional<StepIndex> step_;     ///< step of the state that members should reach
    std::set<PeerKey> waiting_;         ///< members that have not reported yet
    std::map<PeerKey, Digest> states_;  ///< reported state digests
    TimePoint deadline_ = kNever;
};

}  // namespace dedloc::round
