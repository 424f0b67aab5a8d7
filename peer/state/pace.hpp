// Compares how fast leaves arrive with how fast the swarm decides rounds. A peer that receives the
// averages of rounds more slowly than rounds are decided falls behind for ever, so it should not
// load the donors with whole states again and again.
//
// Both are measured by this peer: leaves are verified, and every step is one whose state a majority
// of the voters has signed. Until it has seen two rounds itself, it takes the median of what voters
// say about their duration. So no peer but voters can make another one give up.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::state {

/// Measures one fetch.
class Pace {
  public:
    /// `average_bytes`: bytes of the average of a round as it travels, above 0.
    explicit Pace(std::uint64_t average_bytes) : average_bytes_(average_bytes) {}

    /// The state of this step has been signed.
    void decided(TimePoint now, StepIndex step);
    /// A voter has measured how long a round takes; zero: it has not. Counts until two rounds have
    /// been seen here.
    void told(const PeerKey& voter, Duration round);
    /// A verified leaf has arrived; it travelled as `bytes`.
    void received(TimePoint now, std::uint64_t bytes);
    /// Forgets what has been received: a fetch begins.
    void begin();
    /// No donor is left: the time until the next leaf says nothing about the link.
    void interrupt();
    /// The steps of another history do not continue the ones seen.
    void forget_steps() {
        steps_.clear();
        told_.clear();
    }
    /// Mean duration of the last rounds seen here; zero: fewer than two.
    Duration round() const;

    /// Whether leaves arrive so slowly that an average would take more than 1.6 rounds, or 1.25
    /// rounds once leaves have been timed for 3.5 s. False until the duration of a round is
    /// known and two seconds of leaves have been measured.
    bool is_hopeless() const;
    /// Bytes of the leaves since begin().
    std::uint64_t received_bytes() const { return bytes_; }
    /// What has been measured, for a log: "receives 0.9 Mbit/s, and following rounds of 0.9 s takes
    /// 9.3 Mbit/s". Empty before a round's duration is known and two leaves.
    std::string text() const;

  private:
    struct Step {
        TimePoint at;
        StepIndex step;
    };
    /// Seconds between two rounds; 0: unknown.
    double round_seconds() const;
    /// Bytes a second; 0: unknown.
    double bytes_per_second() const;

    static constexpr std::size_t kMaxTold = wire::kMaxVoters;

    const std::uint64_t average_bytes_;
    std::map<PeerKey, Duration> told_;  ///< what voters have measured
    std::deque<Step> steps_;            ///< the last ones, oldest first
    TimePoint first_leaf_ = kNever;     ///< kNever: none since begin() or interrupt()
    TimePoint last_leaf_ = kNever;
    std::uint64_t bytes_ = 0;        ///< total of all leaves
    std::uint64_t timed_bytes_ = 0;  ///< total of the leaves after first_leaf_
};

}  // namespace dedloc::state
