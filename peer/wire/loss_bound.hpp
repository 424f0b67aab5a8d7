// How much a member's loss sum may be, so that no member can set the loss that is shown for a run.
#pragma once

#include <algorithm>
#include <cmath>

#include "peer/base/units.hpp"

namespace dedloc::wire {

/// Magnitude of the mean loss of a member's samples, in nats; a uniform guess among a million words
/// has 14.
inline constexpr double kMaxMeanLoss = 1'000;

/// The greatest magnitude of the loss sum of that many samples; 0 without samples.
inline double greatest_loss_sum(Samples samples) {
    return kMaxMeanLoss * static_cast<double>(samples.value());
}

/// The loss sum of a model that may have diverged, cut to what is accepted; NaN becomes the most.
inline double accepted_loss_sum(double loss_sum, Samples samples) {
    const double max = greatest_loss_sum(samples);
    return std::isnan(loss_sum) ? max : std::clamp(loss_sum, -max, max);
}

}  // namespace dedloc::wire
