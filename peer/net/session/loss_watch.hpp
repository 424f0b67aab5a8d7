// Decides whether a flow is limited by loss: TCP takes a lost packet for a sign of congestion and
// sends less, although the path would carry more. Then further flows help. They do not help, and
// take a share from others, where the path itself is full.
//
// A flow counts as limited by loss when, at kChecks checks in a row about a second apart,
//
//     it had more to send        at the check, and was sending in kMinBusy of the time before it
//     neither end's buffers      limited it for more than the rest of that time
//     packets were lost          since it has had more to send all the time
//     no queue stands            the round trip is at most 1 / kQueuePart longer than the shortest:
//                                a full path has a queue in front of it
//     the path is long           its shortest round trip is at least kMinRoundTrip
//     it takes loss for          congestion: not with BBR
//
// What the plan of a round expects of the link is not known here; a link that always has more to
// send is below it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

namespace dedloc::net {

/// What TCP says about one flow. The times and the number of packets only grow.
struct FlowSample {
    bool has_more = false;                         ///< bytes wait that were not sent once
    bool obeys_loss = true;                        ///< false: its congestion control is BBR
    std::chrono::microseconds busy{0};             ///< had unacknowledged bytes
    std::chrono::microseconds limited_by_ends{0};  ///< time that a buffer of an end has limited it
    std::uint64_t sent_again = 0;                  ///< packets
    std::chrono::microseconds round_trip{0};       ///< smoothed
    std::chrono::microseconds shortest_round_trip{0};  ///< seen lately
};

/// Asks TCP about the connection with this descriptor; nothing if it is never limited by loss.
using FlowProbe = std::function<std::optional<FlowSample>(int descriptor)>;

/// Watches one flow of a link. It has no clock.
class LossWatch {
  public:
    using Time = std::chrono::steady_clock::time_point;

    static constexpr int kChecks = 2;        ///< so many in a row find a limit
    static constexpr double kMinBusy = 0.8;  ///< share of the time
    static constexpr int kQueuePart = 10;    ///< part of the shortest round trip
    static constexpr std::chrono::milliseconds kMinRoundTrip{50};  ///< without a queue

    /// A check, about once a second. True: the flow is limited by loss. Nothing instead of a
    /// sample: TCP says nothing, or the flow had nothing to send.
    bool check(Time now, const std::optional<FlowSample>& sample);

  private:
    /// A sample and its time.
    struct Check {
        Time at;
        FlowSample sample;
    };

    bool was_busy(Time now, const FlowSample& sample) const;

    std::optional<Check> last_;     ///< the last check, if the flow had more to send
    std::uint64_t sent_again_ = 0;  ///< when it began to have more to send
    int limited_ = 0;               ///< checks in a row
};

}  // namespace dedloc::net
