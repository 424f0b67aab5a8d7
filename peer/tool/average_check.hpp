// Checks that a round's average equals the mean of its contributions, which every peer can compute
// again (synthetic_gradient.hpp). Thread: one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "peer/base/bytes.hpp"
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
    /// Call it for consecutive rounds; a missing round is a gap. Cost: computes one gradient for
    /// each contributor.
    bool holds(const CommitRecord& record, const FloatVector& average);

  private:
    std::optional<float> max_error(const CommitRecord& record);

    const Codec codec_;
    const std::uint64_t elements_;
    std::optional<StepIndex> last_;
    /// Upper bound of each peer's rounding error in its last contribution since a gap, in units of
    /// the largest gradient of a sample.
    std::map<PeerKey, double> residuals_;
};

}  // namespace dedloc::tool
