// An average that is complete here but is not the decided one, though both are of the same sum:
// a reducer has sent other members another average. Which one it was is known once the decided
// average is here. Only chunks that one reducer alone has averaged in that sum count, and the
// network proves their sender.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/round/reduction.hpp"

namespace dedloc::round {

/// What this member had of a round that was decided otherwise.
class Dispute {
  public:
    /// `average`: all of it, as `parts` were sent here; `record`: the digest of the decided record.
    Dispute(const Digest& record, SharedFloats average, std::vector<Reduction::Part> parts)
        : record_(record), average_(std::move(average)), parts_(std::move(parts)) {}

    /// The record that was decided.
    const Digest& record() const { return record_; }
    /// The reducers whose parts differ from `decided`, N elements, bit by bit.
    /// Cost: reads both averages once.
    std::vector<PeerKey> liars(std::span<const float> decided) const;

  private:
    Digest record_;
    SharedFloats average_;
    std::vector<Reduction::Part> parts_;
};

}  // namespace dedloc::round
