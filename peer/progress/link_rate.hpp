// Bandwidth estimate of one direction of this peer's connection, measured with the bulk data of
// real rounds. Only time in which data was queued counts: an idle link says nothing. The peak of a
// round is closest to the link's capacity, since at other times the link may have waited for the
// other end. In rounds that take longer than planned old peaks decay, so a link that has become
// slower is noticed within a few rounds. In other rounds the link has carried what was asked of it:
// a low peak says that it waited for slower links. The first second of a round counts only if there
// is no other, because buffers fill then.
//
// One object for upload and one for download.
#pragma once

#include <cstdint>
#include <optional>

#include "peer/base/units.hpp"

namespace dedloc::progress {

/// Bandwidth estimate of one direction.
class LinkRate {
  public:
    /// Starts with an estimate from elsewhere; nullopt: unknown. Requires one above 0
    /// (DEDLOC_CHECK).
    explicit LinkRate(std::optional<Bandwidth> prior = std::nullopt);

    /// Bulk data is queued from now on. Idempotent.
    void begin(TimePoint now);
    /// `bytes` of bulk data were transferred since the last call. Ignored while nothing is queued.
    void carried(TimePoint now, Bytes bytes);
    /// The queue is empty. Idempotent; a round may have several busy periods.
    void pause(TimePoint now);
    /// How a round ended.
    enum class Outcome : std::uint8_t {
        kInTime,     ///< it took no longer than its plan expected
        kLate,       ///< it took longer, or nothing was expected
        kCancelled,  ///< it was not decided
    };
    /// The round is over: its peak updates the estimate, half-way up to a higher peak, down by at
    /// most a quarter to a lower one if it was late. After a cancelled round, which may have relied
    /// on a rate that was too high, it goes down to the peak at once. A round that carried less
    /// than 1 MiB changes nothing.
    void end(TimePoint now, Outcome outcome = Outcome::kLate);

    /// The estimate; nullopt: unknown.
    std::optional<Bandwidth> estimate() const { return rate_; }

  private:
    void close_window();

    std::optional<Bandwidth> rate_;
    bool is_busy_ = false;
    TimePoint since_;          ///< when the last event came while busy
    Duration window_{};        ///< busy time in the present window
    std::uint64_t bytes_ = 0;  ///< bytes in the present window
    /// Rate of this round's first window, and the highest one of its later windows; nullopt: none
    /// is complete yet.
    std::optional<Bandwidth> first_;
    std::optional<Bandwidth> peak_;
};

}  // namespace dedloc::progress
