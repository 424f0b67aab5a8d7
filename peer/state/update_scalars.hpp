// The numbers of one optimizer update. They need libm or long products, which differ between
// machines or cost time, so the coordinator computes them once (`lamb_scalars`), the plan carries
// their bits, and every peer applies those.
#pragma once

#include <cstdint>

#include "peer/base/units.hpp"

namespace dedloc::state {

/// Everything an update needs besides the average gradient, each the bits of one binary32.
struct UpdateScalars {
    std::uint32_t learning_rate_bits = 0;
    std::uint32_t bias_correction_bits = 0;  ///< √(1 − β₂ᵗ) ÷ (1 − β₁ᵗ)
    std::uint32_t beta1_bits = 0;
    std::uint32_t one_minus_beta1_bits = 0;  ///< rounded from the difference in double
    std::uint32_t beta2_bits = 0;
    std::uint32_t one_minus_beta2_bits = 0;
    std::uint32_t epsilon_bits = 0;
    std::uint32_t weight_decay_bits = 0;
    std::uint32_t clip_norm_bits = 0;  ///< bound of the average's norm; 0: no clipping
    std::uint32_t norm_limit_bits =
        0;  ///< a tensor's norm counts at most this much in its trust ratio
    bool operator==(const UpdateScalars&) const = default;
};

/// Whether a peer can apply these: all finite, none negative, both decay rates at most 1, ε > 0.
/// What came over the wire is asked this before anything else.
[[nodiscard]] bool are_usable(const UpdateScalars& scalars);

/// The optimizer's part of a run file.
struct LambSettings {
    double learning_rate = 0.00176;  ///< the peak
    std::uint64_t warmup_steps = 0;
    std::uint64_t total_steps = 1;  ///< the learning rate reaches 0 here
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-6;
    double weight_decay = 0.01;
    double clip_norm = 1.0;  ///< 0: no clipping
    double norm_limit = 10'000;
};

/// Linear warm-up, then linear decay to 0 at total_steps:
///
///     step < warmup:  peak × (step + 1) ÷ warmup;   else peak × (total − step) ÷ (total − warmup),
///     and 0 from total on
///
/// Departs from DeDLOC's schedule, whose first update has learning rate 0.
double learning_rate_at(const LambSettings& settings, StepIndex step);

/// Scalars of the update that turns state `step` into state `step + 1` (so t = step + 1). Only the
/// coordinator calls this. Powers by repeated multiplication in double: O(step), about a
/// millisecond at step 1,000,000. Requires  settings that give usable scalars      (aborts)
UpdateScalars lamb_scalars(const LambSettings& settings, StepIndex step);

}  // namespace dedloc::state
