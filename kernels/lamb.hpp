// LAMB: Adam's direction, its length set tensor by tensor from the tensor's own norm.
//
// Variant A is the one DeDLOC ran (torch_optimizer.Lamb with debias): m and v are not de-biased,
// the *step size* is, after the trust ratio was taken; tensors without decay have a trust ratio
// too. Variant B is NVIDIA's (apex FusedLAMB): m and v are de-biased before the direction is taken;
// tensors without decay move by the plain learning rate. In both ε is outside the root.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/arithmetic.hpp"
#include "kernels/workers.hpp"

namespace dedloc::kernels {

enum class LambVariant : std::uint8_t {
    kStepDebiased,     ///< A
    kMomentsDebiased,  ///< B
};

/// Scalars of one update of one tensor. They are inputs, never computed here: powers and schedules
/// need libm or long products, so whoever coordinates computes them once and everybody uses the
/// same bits.
struct LambScalars {
    LambElementScalars element{};  ///< A: both corrections are 1
    double step_size = 0;   ///< A: learning rate × bias correction; exact, when both come from
                            ///< floats. B: learning rate
    double norm_limit = 0;  ///< the parameters' norm counts at most this much; 10,000 in A's
                            ///< original, in B's no limit: the largest double
    LambVariant variant = LambVariant::kStepDebiased;
    bool adapts = true;  ///< false: the ratio is 1. B's original: only tensors that decay adapt
};

/// One LAMB update of one tensor, in place.
///
///     g = clip_factor × gradient;   m = β₁ m + (1−β₁) g;   v = β₂ v + (1−β₂) (g g)
///     A: u = m ÷ (√v + ε) + decay × p
///     B: u = (m ÷ (1−β₁ᵗ)) ÷ (√(v ÷ (1−β₂ᵗ)) + ε) + decay × p
///     ratio = min(‖p‖, norm_limit) ÷ ‖u‖, or 1 if either norm is 0 or the tensor does not adapt
///     p = p − float(step_size × ratio) × u
///
/// Elements in fp32, norms (by the rule of reduction.hpp) and the ratio in double; every operation
/// rounded separately.
///
/// Returns   the ratio
/// Shapes    all four N ≤ 2³²; N = 0 does nothing and returns 1
/// Requires  equal extents, no overlap, finite scalars, ε > 0, norm_limit ≥ 0, both corrections in
///           (0, 1], 1 in A (aborts); finite elements, v ≥ 0
/// Thread    any
/// Cost      two passes, 24 + 16 = 40 bytes an element; u is computed twice, not stored
/// Source    You et al. 2019, "Large batch optimization for deep learning"; torch_optimizer.Lamb;
///           apex FusedLAMB. Differs from the last: the gradient is multiplied by a clip factor,
///           where apex divides by max(1, ‖g‖ ÷ limit); constants are exact floats of the caller
double lamb(std::span<float> parameters, std::span<float> first_moment,
            std::span<float> second_moment, std::span<const float> gradient,
            const LambScalars& scalars, const Workers& workers = ThisThread{});

}  // namespace dedloc::kernels
