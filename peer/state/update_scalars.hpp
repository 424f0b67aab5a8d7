// The optimizer's settings, and the numbers of one update that follow from them and the step. Those
// need libm or long products, which differ between machines or cost time, so the coordinator
// computes them once, the commit carries their bits (UpdateScalars, peer/wire/types.hpp), and every
// peer applies those.
#pragma once

#include <cstdint>

#include "peer/base/units.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::state {

/// The optimizer's part of a run file: the same for all peers and all steps. Peers use the
/// constants rounded to binary32 (1 − β from the difference in double), which needs no libm.
struct LambSettings {
    double learning_rate = 0.00176;  ///< the peak
    std::uint64_t warmup_steps = 0;
    std::uint64_t total_steps = 1;  ///< the learning rate reaches 0 here
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-6;
    double weight_decay = 0.01;
    double clip_norm = 1.0;      ///< bound of the average's norm; 0: no clipping
    double norm_limit = 10'000;  ///< a tensor's norm counts at most this much in its trust ratio
    bool operator==(const LambSettings&) const = default;
};

/// Whether an optimizer can be made of these: all finite in binary32 and not negative, both β below
/// 1, ε above 0.
[[nodiscard]] bool are_usable(const LambSettings& settings);

/// Whether a peer can apply these: both finite and not negative. What came over the wire is asked
/// this before anything else.
[[nodiscard]] bool are_usable(const UpdateScalars& scalars);

/// Linear warm-up, then linear decay to 0 at total_steps:
///
///     step < warmup    peak × (step + 1) ÷ warmup
///     step < total     peak × (total − step) ÷ (total − warmup)
///     else             0
///
/// Departs from DeDLOC's schedule, whose first update has learning rate 0.
double learning_rate_at(const LambSettings& settings, StepIndex step);

/// Scalars of the update that turns state `step` into state `step + 1` (so t = step + 1). Only the
/// coordinator calls this.
///
/// Requires  usable settings (aborts)
/// Cost      powers by repeated multiplication in double: O(step), some ms at step 1,000,000
UpdateScalars lamb_scalars(const LambSettings& settings, StepIndex step);

}  // namespace dedloc::state
