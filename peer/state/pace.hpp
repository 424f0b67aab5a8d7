// Compares how fast leaves arrive with how fast the swarm decides rounds. A peer that receives the
// averages of rounds more slowly than rounds are decided falls behind for ever, so it should not
// load the donors with whole states again and again.
//
// Both are measured by this peer: leaves are verified, and every step is one whose state a majority
// of the voters has signed. So no single peer can make another one give up.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "peer/base/units.hpp"

namespace dedloc::state {

/// Measures one fetch.
class Pace {
  public:
    /// `average_bytes`: bytes of the average of a round as it travels, above 0.
    explicit Pace(std::uint64_t average_bytes) : average_bytes_(average_bytes) {}

    /// The state of this step has been signed.
    void decided(TimePoint now, StepIndex step);
    /// A verified leaf has arrived; it travelled as `bytes`.
    void received(TimePoint now, std::uint64_t bytes);
    /// Forgets what has been received: a fetch begins.
    void begin();
    /// No donor is left: the time until the next leaf says nothing about the link.
    void interrupt();
    /// The steps of another history do not continue the ones seen.
    void forget_steps() { steps_.clear(); }

    /// Whether leaves arrive so slowly that an average would take more than two rounds, or 1.25
    /// rounds once leaves have been timed for four seconds. False until two rounds and two seconds
    /// of leaves have been measured.
    bool is_hopeless() const;
    /// Bytes of the leaves since begin().
    std::uint64_t received_bytes() const { return bytes_; }
    /// What has been measured, for a log: "receives 0.9 Mbit/s, and following rounds of 0.9 s takes
    /// 9.3 Mbit/s". Empty before two rounds and two leaves.
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

    const std::uint64_t average_bytes_;
    std::deque<Step> steps_;         ///< the last ones, oldest first
    TimePoint first_leaf_ = kNever;  ///< kNever: none since begin() or interrupt()
    TimePoint last_leaf_ = kNever;
    std::uint64_t bytes_ = 0;        ///< total of all leaves
    std::uint64_t timed_bytes_ = 0;  ///< total of the leaves after first_leaf_
};

}  // namespace dedloc::state
