// Whether averages are what their contributors have sent, as far as anybody can compute it again
// (synthetic_gradient.hpp). Thread: one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "peer/base/bytes.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::tool {

class AverageCheck {
  public:
    AverageCheck(Codec codec, std::uint64_t elements) : codec_(codec), elements_(elements) {}

    /// Whether this can be the average that the record promises.
    ///
    ///     fp32   bit for bit
    ///     fp16   as near as rounding leaves it. A contribution also makes up for what rounding
    ///            took of its peer's last one, so a round in which somebody contributes for the
    ///            first time since the last gap cannot be judged, and counts as right.
    ///
    /// To be called for one round after the other; a round that is left out is a gap. Cost: a
    /// gradient for each contributor.
    bool holds(const CommitRecord& record, const FloatVector& average);

  private:
    std::optional<float> max_error(const CommitRecord& record) const;

    const Codec codec_;
    const std::uint64_t elements_;
    std::optional<StepIndex> last_;
    std::map<PeerKey, Samples> counted_;  ///< in each one's last contribution since the last gap
};

}  // namespace dedloc::tool
