// Estimates when the swarm has computed its target batch. Peers report finished samples about once
// a heartbeat and go on computing in between. The coordinator calls the round when reports plus
// extrapolation reach the target. Every peer then finishes its current micro-batch, so the round
// gets the target and, on average, half a micro-batch more for each peer.
//
// A report counts finished micro-batches only. A peer's progress in its current micro-batch follows
// from the time when its count last rose; the size of its micro-batches is the greatest common
// divisor of its counts. The samples that peers compute while reports and calls are on their way,
// and errors in their own rates, are learned from the samples that they join with.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"

namespace dedloc::progress {

/// Parameters of the estimate.
struct TargetBatchRules {
    Samples target;                                ///< samples of a round
    Duration heartbeat = std::chrono::seconds{1};  ///< time between two reports of one peer
};

/// Progress of the swarm towards its target batch, by the reports of its peers.
class TargetBatch {
  public:
    explicit TargetBatch(const TargetBatchRules& rules) : rules_(rules) {}

    /// `peer` has finished `samples` on state `step`, at that rate. Counts once begin(step) was
    /// called; replaces the peer's last report. A rate that is negative or NaN counts as 0.
    void report(const PeerKey& peer, TimePoint now, StepIndex step, Samples samples,
                double samples_per_second);
    /// Drops the peer's report; its trust stays.
    void forget(const PeerKey& peer);
    /// Counts only reports on `step` from now on, including those that have arrived already.
    void begin(StepIndex step);

    /// The round is called now. The estimate may be above the target, since a call also waits for
    /// stragglers.
    void called(TimePoint now);
    /// All peers together have joined the round with `joined` samples: if that is more or less than
    /// the estimate at the call, the next rounds are called earlier or later.
    void gathered(Samples joined);
    /// One peer has joined with `samples`. If that is less than it reported, its reports are scaled
    /// down by the same ratio (its trust), until it has several times joined with all it reported.
    void joined(const PeerKey& peer, Samples samples);

    /// Samples reported and extrapolated since. A peer's rate counts for at most half a heartbeat
    /// after its next report was due: a peer that does not report may not compute.
    /// Cost  O(peers)
    Samples estimate(TimePoint now) const;
    /// Samples reported, without extrapolation; estimate() is never less.
    Samples reported() const;
    /// The first time from `now` on at which estimate() reaches the target if no more reports
    /// arrive; kNever if it will not.      Cost  O(peers × log peers)
    TimePoint reached_at(TimePoint now) const;

  private:
    struct Report {
        StepIndex step;
        Samples samples;
        double samples_per_second = 0;
        TimePoint at;                   ///< when the newest report came
        TimePoint risen_at;             ///< when the first report with this count came
        TimePoint not_yet_at;           ///< when the last report with a lower count came
        std::uint64_t micro_batch = 0;  ///< greatest common divisor of all counts; 0: unknown
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
    double lead_ = 0;   ///< seconds of computing by which peers are ahead of their extrapolation
    Samples expected_;  ///< estimate at the last call, the target or more
    std::map<PeerKey, Report> reports_;
    std::map<PeerKey, double> trust_;  ///< factors for reports, only those below 1
};

}  // namespace dedloc::progress
