// When a frame counts as written: what a link's driver, which keeps a window of frames that are not
// written, is told.
//
// A small frame is written when the stream has taken it. A large one is when its receiver has
// confirmed it, for a socket's buffer swallows megabytes: what is in it is neither sent nor can
// anything overtake it. But a path that is long and fast holds megabytes too, and to fill it they
// must have been sent: so many bytes as the path itself holds are told before they are confirmed.
// What waits in front of the path is then the driver's window and what the path carries in
// kOtherWork, however long it is.
//
//     what the path holds = delivered a second × (round trip without queues + kOtherWork)
//
// Rate and round trip are measured, as BBR does (Cardwell et al., "BBR: congestion-based
// congestion control", 2016): the first from what was confirmed while a frame was on its way, which
// follows a link that has to share its path within one round trip; the second is the shortest that
// was ever seen, in the handshake or from a large frame to its receipt. After a pause it begins
// anew with nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace dedloc::net {

/// The data frames of one link, in the order in which they were sent. No clock, no lock.
class LinkWindow {
  public:
    using Time = std::chrono::steady_clock::time_point;
    using Duration = std::chrono::steady_clock::duration;

    /// Longer round trips count as this: a receiver that delays its receipts gets no more of the
    /// sender's queue than this time's worth of what it takes.
    static constexpr std::chrono::milliseconds kMaxRoundTrip{300};

    /// For so long a driver may be busy with other things, and its link have enough to send: a
    /// chunk's sums, or a turn of the processor that somebody else has.
    static constexpr std::chrono::milliseconds kOtherWork{5};

    /// At most so many bytes, and one frame, are told before they are confirmed. `round_trip`: of a
    /// few bytes, as far as it is known.
    explicit LinkWindow(std::size_t max_early, Duration round_trip = kMaxRoundTrip);

    /// A frame waits for the stream.
    void queue(Time now, std::size_t bytes);
    /// The stream has taken so many more, which have been queued.
    void take(Time now, std::size_t frames);
    /// The receiver has so many more of the large ones. False: they were never sent.
    [[nodiscard]] bool confirm(Time now, std::size_t frames);
    /// How many more are written; each is counted once.
    std::size_t count_written();

  private:
    /// A large frame that is not confirmed.
    struct Flight {
        std::size_t bytes = 0;
        bool is_taken = false;
        Time taken_at{};
        std::uint64_t confirmed_before = 0;  ///< bytes, when it was taken
    };

    const std::size_t max_early_;
    Duration round_trip_;  ///< the shortest
    std::deque<std::size_t> unwritten_;
    std::size_t taken_ = 0;  ///< of these, at the front
    std::deque<Flight> flights_;
    // Large frames so far.
    std::uint64_t large_taken_ = 0;
    std::uint64_t large_written_ = 0;
    std::uint64_t large_confirmed_ = 0;
    std::uint64_t confirmed_bytes_ = 0;
    Time confirmed_at_{};
    std::size_t early_ = 0;       ///< bytes that are written and not confirmed
    std::size_t path_holds_ = 0;  ///< bytes
};

}  // namespace dedloc::net
