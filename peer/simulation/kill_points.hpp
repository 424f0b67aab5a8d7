// Named moments of a round at which a peer may die. A point is found in what a peer is sent and
// asks for, so it means the same whatever the protocol does in between.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "peer/events.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::simulation {

enum class Point : std::uint8_t {
    // A member: before it does what it was told, before it says so, after it has said so.
    kBeforeCallHandled,
    kAfterCallReceived,
    kBeforeJoinSent,
    kAfterJoinSent,
    kBeforePlanHandled,
    kAfterPlanReceived,
    kFirstScatterSent,
    kHalfScatterSent,
    kLastScatterSent,
    kBeforeReducedSent,
    kAfterReducedSent,
    kFirstGatherReceived,
    kHalfGatherReceived,
    kLastGatherReceived,
    kBeforeReadySent,
    kAfterReadySent,
    kBeforeProposeHandled,
    kBeforeAcceptSent,
    kAfterAcceptSent,
    kBeforeCommitHandled,
    kAfterCommitted,
    kAfterApplied,
    // A reducer.
    kFirstScatterReceived,
    kHalfScatterReceived,
    kLastScatterReceived,
    kFirstGatherSent,
    kHalfGatherSent,
    kLastGatherSent,
    // A coordinator: before a broadcast, in the middle of it, after it.
    kBeforeCallSent,
    kCallSentToOne,
    kAfterCallSent,
    kBeforePlanSent,
    kPlanSentToOne,
    kAfterPlanSent,
    kBeforeProposeSent,
    kProposeSentToOne,
    kAfterProposeSent,
    kBeforeCommitSent,
    kCommitSentToOne,
    kAfterCommitSent,
};
inline constexpr std::size_t kPointCount = static_cast<std::size_t>(Point::kAfterCommitSent) + 1;

std::array<Point, kPointCount> all_points();
std::string_view name_of(Point point);

/// Waits for one point of the round of a step, or of a later one if it does not come before.
class KillPoint {
  public:
    KillPoint(Point point, StepIndex step, const PeerKey& self);

    /// Whether the peer dies now: instead of handling the event, …
    bool is_before(const Event& event);
    /// … after it has handled it and done everything it asked for, …
    bool is_after_event();
    /// … or instead of, or after, doing actions[i]. Ask for each action once, in order.
    bool is_before(const Actions& actions, std::size_t i);
    bool is_after(const Actions& actions, std::size_t i);

    Point point() const { return point_; }
    /// That the last frame, record or average of the point's kind was of.
    StepIndex round() const { return round_; }

  private:
    bool is_match(const SharedBytes& frame);
    void learn(const wire::Plan& plan);
    bool is_counted_out() const;

    const Point point_;
    const StepIndex step_;
    const PeerKey self_;
    StepIndex round_;             ///< that is counted in
    std::uint64_t seen_ = 0;      ///< frames of the point's kind
    std::uint64_t expected_ = 1;  ///< by the newest plan
    bool is_due_ = false;         ///< at the end of the event or action at hand
};

}  // namespace dedloc::simulation
