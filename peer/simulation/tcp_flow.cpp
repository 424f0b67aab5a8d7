// A frame is sent in round trips: each carries a window at most, then the window grows, or shrinks
// if one of its packets was lost. So a frame of several windows meets several losses.
#include "peer/simulation/tcp_flow.hpp"

#include <algorithm>
#include <cmath>

#include "peer/base/check.hpp"

namespace dedloc::simulation {
namespace {

constexpr double kFirstPackets = 10;
constexpr double kMinPackets = 2;
constexpr double kReduction = 0.3;  ///< share of its window that a flow gives up after a loss
constexpr double kGrowth = 0.53;    ///< packets a round trip: 3 × 0.3 / (2 − 0.3)
/// Linux's shortest retransmission timeout, on top of the round trip.
constexpr Duration kTimeout = std::chrono::milliseconds{200};

}  // namespace

TcpFlow::Times TcpFlow::send(TimePoint now, std::uint64_t bytes, Duration round_trip,
                             const TcpOptions& options, Random& random) {
    DEDLOC_CHECK(options.packet_bytes > 0 && options.flows > 0 && options.loss < 1,
                 "congestion control has packets, flows, and some that arrive");
    const auto packet = static_cast<double>(options.packet_bytes);
    const auto flows = static_cast<double>(options.flows);
    const double first = kFirstPackets * packet * flows;
    if (window_ == 0) window_ = first;
    if (now - idle_since_ > kTimeout + round_trip) window_ = std::min(window_, first);
    double round_trips = 0;
    bool is_late = false;
    for (auto left = static_cast<double>(bytes); left > 0;) {
        const double sent = std::min(left, window_);
        const double share = sent / window_;
        left -= sent;
        round_trips += share;
        is_late = options.loss > 0 &&
                  random.uniform() >= std::pow(1 - options.loss, std::ceil(sent / packet));
        if (is_late) {
            window_ = std::max(window_ * (1 - kReduction / flows), kMinPackets * packet * flows);
            threshold_ = window_;
        } else if (threshold_ == 0 || window_ < threshold_) {
            window_ += sent;
        } else {
            window_ += kGrowth * packet * flows * share;
        }
    }
    const auto sending =
        Duration{static_cast<std::int64_t>(round_trips * static_cast<double>(round_trip.count()))};
    idle_since_ = now + sending;
    return {.sending = sending, .late = is_late ? round_trip : Duration{0}};
}

}  // namespace dedloc::simulation
