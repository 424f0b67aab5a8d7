// Since when trainers can have computed for the round of the head, and so how many samples they can
// have at most. Belongs to the coordinator.
//
// Live      Right after a live decision no trainer holds samples of the new state. After any other
//           change of the head a trainer may hold up to a target batch, at which it stops
//           computing, and with overlap as many samples again for the next round.
// Overlap   Samples that are computed during a round count for the next one, so trainers compute
//           for the head's round since the previous head.
// Pauses    No trainer computes while the run is paused, except to finish a micro-batch: that time
//           makes no larger claim possible.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "peer/config.hpp"
#include "peer/round/turns.hpp"

namespace dedloc::round {

/// When heads came, as far as it bounds what trainers may claim.
class HeadTimes {
  public:
    /// Keeps a reference to `rules`, which must outlive it.
    explicit HeadTimes(const RoundRules& rules) : rules_(rules) {}

    /// The head has changed. `is_live`: by a decision made at this moment.
    void on_head(TimePoint now, bool is_live);
    /// The run is paused.
    void on_pause(TimePoint now);
    /// The run goes on. Returns the time that does not count as time of computing.
    Duration on_resume(TimePoint now);

    /// Whether the run is paused.
    bool is_paused() const { return paused_at_.has_value(); }
    /// When the head last changed.
    TimePoint since() const { return since_; }
    /// Whether it changed by a decision that was made at that time.
    bool is_live() const { return is_live_; }
    /// Whether trainers may have held samples of the head's state when it came.
    bool may_be_held() const { return stored_ > Samples{0}; }
    /// Since when trainers in every round compute for the round of the head.
    TimePoint computing_since() const { return computing_since_; }
    /// Since when this trainer computes for the round of the head, whose step is `head`.
    TimePoint computing_since(const PeerKey& peer, StepIndex head, const Turns& turns) const;
    /// Upper bound of the samples that a device of this speed can have computed for the head's
    /// round since `since`, and one second more: it may have learned of the head earlier.
    Samples limit(TimePoint now, TimePoint since, std::uint64_t max_samples_per_second) const;

    /// Fails a DEDLOC_CHECK if the state contradicts itself.
    void check_invariants() const;

  private:
    const RoundRules& rules_;
    TimePoint since_{};
    bool is_live_ = false;
    TimePoint computing_since_{};
    std::deque<TimePoint> heads_;  ///< when the heads whose samples may count came, newest first
    Samples stored_;               ///< most samples that a trainer can have held at since_
    Samples carried_;              ///< most samples of the round from before computing_since_
    std::optional<TimePoint> paused_at_;
};

}  // namespace dedloc::round
