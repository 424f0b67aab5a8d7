// Checks that a round's average equals the mean of its contributions, which every peer can compute
// again (synthetic_gradient.hpp). Thread: one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/tool/synthetic_gradient.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::tool {

/// Checks the averages of one run, round by round.
class AverageCheck {
  public:
    /// `elements` is the length of the run's vector.
    AverageCheck(Codec codec, std::uint64_t elements) : codec_(codec), elements_(elements) {}

    /// True if `average` is valid for this record.
    ///
    ///     fp32     equal bit for bit
    ///     others   within the error of rounding. A contribution also carries the rounding error of
    ///              its peer's last one. So a round with a contributor that has no counted round
    ///              since the last gap cannot be judged, and passes.
    ///
    /// A trainer that is called when done may have frozen its contribution up to
    /// wire::kMaxStaleSteps steps before the round. The record does not say how many, so all are
    /// tried, for at most five contributors that the round before did not count.
    ///
    /// Call it for consecutive rounds; a missing round is a gap. Cost: computes one gradient for
    /// each contributor, and parts of gradients if a contribution was frozen earlier.
    bool holds(const CommitRecord& record, const FloatVector& average);

  private:
    std::vector<PeerKey> maybe_frozen_earlier(const CommitRecord& record) const;
    bool is_mean(const CommitRecord& record, std::span<const float> average, float error,
                 const StepsBefore& frozen) const;
    std::optional<float> max_error(const CommitRecord& record);

    const Codec codec_;
    const std::uint64_t elements_;
    std::optional<StepIndex> last_;
    std::set<PeerKey> counted_;  ///< contributors of that round
    /// Upper bound of each peer's rounding error in its last contribution since a gap, in units of
    /// the largest gradient of a sample.
    std::map<PeerKey, double> residuals_;
};

}  // namespace dedloc::tool
