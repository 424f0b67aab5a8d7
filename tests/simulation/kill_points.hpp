// Named points of a round at which a peer may die. A point is recognised from the peer's events and
// actions only, so its meaning does not depend on the protocol's implementation.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "peer/events.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::simulation {

/// A point of a round. kRules in kill_points.cpp gives each its name and condition, in this order.
enum class Point : std::uint8_t {
    // A member: before it handles a message, before it sends its answer, after it has sent it.
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
    // A reducer: in the course of scatter and gather.
    kFirstScatterReceived,
    kHalfScatterReceived,
    kLastScatterReceived,
    kFirstGatherSent,
    kHalfGatherSent,
    kLastGatherSent,
    // A coordinator: before a broadcast, after its first message, after its last.
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
/// Number of points.
inline constexpr std::size_t kPointCount = static_cast<std::size_t>(Point::kAfterCommitSent) + 1;

/// All points, in the order of the enumeration.
std::array<Point, kPointCount> all_points();
/// The point's name in traces, for example "before Join is sent".
std::string_view name_of(Point point);

/// Detects when a peer reaches a point in the round of a step, or in a later round.
class KillPoint {
  public:
    /// Waits for `point` from the round of `step` on. `self` is the peer's own key.
    KillPoint(Point point, StepIndex step, const PeerKey& self);

    // Each returns whether the peer dies now. Ask for every event and action once, in order.
    /// The peer dies instead of handling this event.
    bool is_before(const Event& event);
    /// The peer dies after it has handled the event and all its actions have been performed.
    bool is_after_event();
    /// The peer dies instead of performing actions[i].
    bool is_before(const Actions& actions, std::size_t i);
    /// The peer dies after performing actions[i].
    bool is_after(const Actions& actions, std::size_t i);

    /// The point that it waits for.
    Point point() const { return point_; }
    /// The step of the last frame, record or average of the point's kind.
    StepIndex round() const { return round_; }

  private:
    bool is_match(const SharedBytes& frame);
    void learn(const wire::Plan& plan);
    bool is_counted_out() const;

    const Point point_;
    const StepIndex step_;
    const PeerKey self_;
    StepIndex round_;             ///< the round in which frames are counted
    std::uint64_t seen_ = 0;      ///< frames of the point's kind in that round
    std::uint64_t expected_ = 1;  ///< expected number of such frames by the newest plan
    bool is_due_ = false;         ///< the peer dies at the end of the present event or action
};

}  // namespace dedloc::simulation
