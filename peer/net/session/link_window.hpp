// Decides when a frame counts as written. The link's driver keeps a window of unwritten frames and
// is told when one is written.
//
// A small frame is written when the socket has taken it. A large one is written when its receiver
// has confirmed it: a socket buffer takes megabytes, and frames in it are neither sent nor can an
// urgent frame overtake them. But a long, fast path also holds megabytes, which must have been
// sent to fill it. So as many bytes as the path holds are reported as written before they are
// confirmed. The queue in front of the path is then the driver's window plus what the path carries
// in kOtherWork, however long the path is.
//
//     path capacity = delivery rate × (round trip without queues + kOtherWork)
//
// Rate and round trip are measured as in BBR (Cardwell et al., "BBR: congestion-based congestion
// control", 2016). The rate is what was confirmed while a frame was in flight, so it adapts within
// one round trip when the path is shared. The round trip is the shortest one seen, in the
// handshake or from a large frame to its receipt. After a pause the estimate restarts at zero.
//
// A frame of a link with several flows takes longer than a round trip, because its flow is slow and
// because it waits at the receiver for frames that were lost on other flows. So that no flow runs
// out of data, kFlowRoundTrips count then instead of one, and a frame for each flow besides.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace dedloc::net {

/// Tracks the data frames of one link in send order. It has no clock and no lock.
class LinkWindow {
  public:
    using Time = std::chrono::steady_clock::time_point;
    using Duration = std::chrono::steady_clock::duration;

    /// Upper bound of the estimated round trip: a receiver that delays its receipts has at most
    /// this time's worth of its own rate in flight.
    static constexpr std::chrono::milliseconds kMaxRoundTrip{300};

    /// The driver may do other work for this long without its link running out of data: the sum of
    /// a chunk, or the time slice of another process.
    static constexpr std::chrono::milliseconds kOtherWork{5};

    /// Round trips of which the bytes are sent early on a link with several flows.
    static constexpr int kFlowRoundTrips = 3;

    /// At most `max_early` bytes plus one frame for each flow are reported before they are
    /// confirmed. `round_trip`: the round trip of a small message, if it is known.
    explicit LinkWindow(std::size_t max_early, Duration round_trip = kMaxRoundTrip);

    /// The link has so many flows from now on.
    void set_flows(std::size_t flows) { flows_ = flows; }

    /// A frame of `bytes` bytes waits for the socket.
    void queue(Time now, std::size_t bytes);
    /// The socket has taken the next `frames` queued frames.
    void take(Time now, std::size_t frames);
    /// The receiver has confirmed `frames` more large frames. False: so many were never sent.
    [[nodiscard]] bool confirm(Time now, std::size_t frames);
    /// Number of frames that have become written since the last call.
    std::size_t count_written();

  private:
    /// A large frame that is not confirmed.
    struct Flight {
        std::size_t bytes = 0;
        bool is_taken = false;
        Time taken_at{};
        std::uint64_t confirmed_before = 0;  ///< confirmed_bytes_ when the socket took it
    };

    bool has_free_flow() const;

    const std::size_t max_early_;
    Duration round_trip_;                ///< the shortest one seen
    std::deque<std::size_t> unwritten_;  ///< sizes of frames not yet reported
    std::size_t taken_ = 0;              ///< frames at the front of unwritten_ that were taken
    std::deque<Flight> flights_;
    // Numbers of large frames so far.
    std::uint64_t large_taken_ = 0;
    std::uint64_t large_written_ = 0;
    std::uint64_t large_confirmed_ = 0;
    std::uint64_t confirmed_bytes_ = 0;
    Time confirmed_at_{};
    std::size_t flows_ = 1;
    std::size_t early_ = 0;       ///< bytes reported as written and not confirmed
    std::size_t path_holds_ = 0;  ///< estimated capacity of the path, in bytes
};

}  // namespace dedloc::net
