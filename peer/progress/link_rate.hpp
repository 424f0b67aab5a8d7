// What one direction of a peer's connection carries, learned from the bulk data of real rounds.
// Only time in which something was waiting to be carried counts: an idle link says nothing. The
// peak of a round is the closest to what the link can do, because in between it may have waited for
// the other end; old peaks fade, so a link that has become slower is noticed within a few rounds.
// The first second of a round counts only if there is no more: buffers fill then.
//
// One object each for upload and download.
#pragma once

#include <cstdint>

#include "peer/base/units.hpp"

namespace dedloc::progress {

class LinkRate {
  public:
    /// A first guess from elsewhere; 0: not known.
    explicit LinkRate(std::uint64_t prior_bytes_per_second = 0) : rate_(prior_bytes_per_second) {}

    /// Bulk data waits to be carried from now on. Idempotent.
    void begin(TimePoint now);
    /// So much of it has been carried since the last call. Ignored while nothing waits.
    void carried(TimePoint now, Bytes bytes);
    /// Nothing waits any more. Idempotent; several spells may make one round.
    void pause(TimePoint now);
    /// The round is over: its peak goes into the estimate. A round that carried too little to
    /// measure (1 MiB) changes nothing. Half-way up to a higher peak, down by a quarter at most.
    void end(TimePoint now);

    /// 0: not known.
    std::uint64_t bytes_per_second() const { return rate_; }

  private:
    void close_window();

    std::uint64_t rate_;
    bool is_busy_ = false;
    TimePoint since_;    ///< of the last event while busy
    Duration window_{};  ///< busy time in the window at hand
    std::uint64_t bytes_ = 0;
    std::uint64_t first_ = 0;  ///< of this round's first window
    std::uint64_t peak_ = 0;   ///< of its others
};

}  // namespace dedloc::progress
