// Decides when a round begins, who is in it, and when it is committed.
//
//   gathering ──samples reach the target──► called ──all joined──► planned ──all ready──► commit
//       ▲                                     │                      │  ▲                     │
//       │                             lost or late: left out  lost: planned again without     │
//       │                                     │               it, same contributions          │
//       └───── Cancel: nobody has samples ────┴──────────────────────┴────────────────────────┘
//
// A commit waits for every member's Ready with the same digest: it is for all of them or for none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "peer/membership/links.hpp"
#include "peer/peer.hpp"
#include "peer/round/member.hpp"
#include "peer/round/outbox.hpp"

namespace dedloc::round {

class Coordinator {
  public:
    Coordinator(const PeerConfig& config, const PeerKey& self, const membership::Links& links,
                const Member& own)
        : config_(config), self_(self), links_(links), own_(own) {}

    void joined(const PeerKey& from, StepIndex step, const wire::Join& join, Outbox& out);
    /// The commit to seal and send to its members, when this was the last Ready.
    std::optional<CommitRecord> ready(TimePoint now, const PeerKey& from, StepIndex step,
                                      const wire::Ready& ready, Outbox& out);
    /// A known peer's heartbeat, or our own state.
    void reported(const PeerKey& from, StepIndex step, const Digest& digest, Outbox& out);
    void lost(const PeerKey& peer, Outbox& out);
    /// Time-outs, and whatever has become possible since the last event.
    void advance(TimePoint now, Outbox& out);

    TimePoint next_deadline() const;
    bool is_finished() const { return is_finished_; }
    void check_invariants() const;

  private:
    enum class Phase : std::uint8_t { kGathering, kCalled, kPlanned };
    struct Seat {
        std::optional<wire::Join> join;
        std::optional<Digest> average;
    };
    /// Who of the last commit's members has reported the state after it.
    struct Settling {
        StepIndex step;
        std::set<PeerKey> waiting;
        std::map<PeerKey, Digest> digests;
        TimePoint deadline;
    };

    bool is_eligible(const membership::Known& known) const;
    void call(TimePoint now, Outbox& out);
    void plan(TimePoint now, Outbox& out);
    void cancel(const std::string& why, Outbox& out);
    void time_out(TimePoint now, Outbox& out);
    void settle(TimePoint now, Outbox& out);
    CommitRecord record() const;

    const PeerConfig& config_;
    const PeerKey self_;
    const membership::Links& links_;
    const Member& own_;
    Phase phase_ = Phase::kGathering;
    StepIndex step_;  ///< of the round
    std::uint32_t attempt_ = 0;
    bool is_replan_due_ = false;
    std::map<PeerKey, Seat> seats_;  ///< of the round, ascending by key: member order
    TimePoint deadline_ = kNever;
    std::optional<Settling> settling_;
    bool is_finished_ = false;
};

}  // namespace dedloc::round
