// When will the swarm have its target batch? Peers report what they have finished, about once a
// heartbeat; in between they go on computing. The coordinator calls the round when reports and
// extrapolation together reach the target: then everybody finishes the micro-batch at hand, so the
// round gets the target and, on average, half a micro-batch a peer more.
//
// A report counts finished micro-batches only. How far a peer is in the one at hand follows from
// when its count last rose; how large its micro-batches are, from the common divisor of its counts.
// What is computed while reports and calls are under way, and what peers get wrong about their own
// rates, is learned from what the rounds really brought.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"

namespace dedloc::progress {

struct TargetBatchRules {
    Samples target;
    Duration heartbeat = std::chrono::seconds{1};  ///< between two reports of one peer
};

class TargetBatch {
  public:
    explicit TargetBatch(const TargetBatchRules& rules) : rules_(rules) {}

    /// What `peer` has finished on state `step`. Counted once `step` is the one begun; the newest
    /// report of a peer replaces the one before. A rate that is no number, or negative, is taken as
    /// 0.
    void report(const PeerKey& peer, TimePoint now, StepIndex step, Samples samples,
                double samples_per_second);
    void forget(const PeerKey& peer);
    /// From now on only reports on `step` count, those that have come already included.
    void begin(StepIndex step);

    /// What the peers have joined the round of this step with, which was called when the target was
    /// reached: the next one is called earlier or later for it.
    void gathered(Samples joined);
    /// What one of them has joined with. Reports of a peer that joins with less than it has
    /// reported count for as much less, until it has joined with as much several times.
    void joined(const PeerKey& peer, Samples samples);

    /// Reported, and computed since. A peer's rate counts for at most half a heartbeat after its
    /// next report was due: who has stopped reporting has perhaps stopped.     Cost  O(peers)
    Samples estimate(TimePoint now) const;
    /// Only what has been reported; estimate() is never less.
    Samples reported() const;
    /// The first moment from `now` on at which estimate() is at least the target, if no more
    /// is reported; kNever if it will not be.      Cost  O(peers × log peers)
    TimePoint reached_at(TimePoint now) const;

  private:
    struct Report {
        StepIndex step;
        Samples samples;
        double samples_per_second = 0;
        TimePoint at;                   ///< of the newest report
        TimePoint risen_at;             ///< of the first report with this count
        TimePoint not_yet_at;           ///< of the last report with a lower count
        std::uint64_t micro_batch = 0;  ///< largest size that divides all counts; 0: not known
    };
    double at_report(const Report& report) const;
    double extrapolated(const Report& report, TimePoint now) const;
    double trust_in(const PeerKey& peer) const;
    Samples trusted(const PeerKey& peer, const Report& report) const;
    TimePoint rate_ends_at(const Report& report) const {
        return report.at + rules_.heartbeat + rules_.heartbeat / 2;
    }

    const TargetBatchRules rules_;
    StepIndex step_;
    double lead_ = 0;  ///< so many seconds are the peers ahead of what they have told
    std::map<PeerKey, Report> reports_;
    std::map<PeerKey, double> trust_;  ///< in reports, where it is below 1; outlives them
};

}  // namespace dedloc::progress
