// LAMB: Adam's direction, its length set tensor by tensor from the tensor's own norm. The variant
// is the one DeDLOC ran (torch_optimizer.Lamb with debias): m and v are not de-biased, the *step
// size* is, after the trust ratio was taken; ε is outside the root; tensors without decay have a
// trust ratio too.
#pragma once

#include <span>

#include "kernels/arithmetic.hpp"

namespace dedloc::kernels {

/// Scalars of one update of one tensor. They are inputs, never computed here: powers and schedules
/// need libm or long products, so whoever coordinates computes them once and everybody uses the
/// same bits.
struct LambScalars {
    LambElementScalars element{};
    double step_size = 0;  ///< learning rate × bias correction; exact, when both come from floats
    double norm_limit =
        0;  ///< the parameters' norm counts at most this much; 10,000 in the original
};

/// One LAMB update of one tensor, in place.
///
///     g = clip_factor × gradient;   m = β₁ m + (1−β₁) g;   v = β₂ v + (1−β₂) (g g)
///     u = m ÷ (√v + ε) + decay × p
///     ratio = min(‖p‖, norm_limit) ÷ ‖u‖, or 1 if either norm is 0
///     p = p − float(step_size × ratio) × u
///
/// Elements in fp32, norms (by the rule of reduction.hpp) and the ratio in double; every operation
/// rounded separately.
///
/// Returns   the ratio
/// Shapes    all four N ≤ 2³²; N = 0 does nothing and returns 1
/// Requires  equal extents, no overlap, finite scalars, ε > 0 (aborts); finite elements, v ≥ 0
/// Thread    any
/// Cost      two passes, 24 + 16 = 40 bytes an element; u is computed twice, not stored
/// Source    You et al. 2019, "Large batch optimization for deep learning"; torch_optimizer.Lamb
double lamb(std::span<float> parameters, std::span<float> first_moment,
            std::span<float> second_moment, std::span<const float> gradient,
            const LambScalars& scalars);

}  // namespace dedloc::kernels
