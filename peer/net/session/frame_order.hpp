// The order of the data frames of a link whose flows bring them out of order. Frames are numbered
// from 0, modulo 2³², in the order in which they were given to the link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "peer/base/bytes.hpp"

namespace dedloc::net {

/// Received frames, those included that wait for earlier ones.
class ReceivedFrames {
  public:
    /// Counted for each waiting frame besides its bytes.
    static constexpr std::size_t kOverhead = 64;

    /// `limit`: bytes that may wait, with kOverhead for each frame; 0: frames must come in order.
    explicit ReceivedFrames(std::size_t limit) : limit_(limit) {}

    /// A frame has arrived. False, and it is dropped: it has come before, or more would wait than
    /// the limit allows.
    [[nodiscard]] bool take(std::uint32_t number, SharedBytes frame);
    /// The next frame in order, for delivery; null if it has not arrived.
    SharedBytes next();

  private:
    const std::size_t limit_;
    std::uint32_t expected_ = 0;       ///< number of the next frame in order
    std::deque<SharedBytes> arrived_;  ///< the first is expected_; null: not arrived
    std::size_t bytes_ = 0;            ///< size of arrived_, with kOverhead for each place
};

/// Counts the frames that the sockets have taken in the order of their numbers.
class SentFrames {
  public:
    /// The number of the next frame.
    std::uint32_t add() { return next_++; }
    /// A flow's socket has taken this frame, which is one of add(). Returns how many frames it
    /// completes: itself and those after it that were taken before.
    std::size_t take(std::uint32_t number);

  private:
    std::uint32_t next_ = 0;
    std::uint32_t first_ = 0;    ///< number of the first frame that no socket has taken
    std::deque<bool> is_taken_;  ///< begins with first_, ends where nothing was taken
};

}  // namespace dedloc::net
