// How large uploads may be, how many there may be at a time, and the slowest that may keep one of
// the server's threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "peer/wire/limits.hpp"

namespace dedloc::server {

/// Bytes of the largest upload: the checkpoint of the largest state, 48 GiB, and its head.
/// Certificates set lower limits.
inline constexpr std::uint64_t kMaxUploadBytes = wire::kMaxLeaves * wire::kLeafBytes + (1 << 20);
/// Uploads at the same time, each of which holds one of the server's threads. Others get status
/// 503.
inline constexpr std::size_t kMaxUploads = 128;
/// Uploads of one client (an IPv6 network of 64 bits is one) at the same time.
inline constexpr std::size_t kMaxUploadsOfAddress = 8;

/// Measures one upload in windows of 30 seconds. Each of them must bring 30 KiB (8 kbit/s), so an
/// upload may stall for seconds; the client continues a cut one where it stopped.
class UploadPace {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds kWindow{30};  ///< an upload is judged once in so long
    static constexpr std::size_t kMinBytes = 30 << 10;  ///< in a window

    explicit UploadPace(Clock::time_point now) : began_(now) {}

    /// Counts bytes that have arrived. False if the upload is too slow.
    bool take(std::size_t bytes, Clock::time_point now) {
        bytes_ += bytes;
        if (now - began_ < kWindow) return true;
        const bool is_fast = bytes_ >= kMinBytes;
        began_ = now;
        bytes_ = 0;
        return is_fast;
    }

  private:
    Clock::time_point began_;  ///< when the window began
    std::size_t bytes_ = 0;    ///< in the window
};

}  // namespace dedloc::server
