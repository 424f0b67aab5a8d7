// LAMB: Adam's direction, scaled for each tensor by the tensor's own norm.
//
// Variant A is the one that DeDLOC used (torch_optimizer.Lamb with debias): it de-biases not m and
// v but the *step size*, after it has computed the trust ratio; tensors without decay have a trust
// ratio too. Variant B is NVIDIA's (apex FusedLAMB): it de-biases m and v before it computes the
// direction; tensors without decay use the plain learning rate. In both ε is outside the root.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/arithmetic.hpp"
#include "kernels/workers.hpp"

namespace dedloc::kernels {

/// The two variants above.
enum class LambVariant : std::uint8_t {
    kStepDebiased,     ///< A
    kMomentsDebiased,  ///< B
};

/// Scalars of one update of one tensor. They are inputs, never computed here: powers and schedules
/// need libm or long products, so the coordinator computes them once and every peer uses the same
/// bits.
struct LambScalars {
    LambElementScalars element{};  ///< A: both corrections are 1
    double step_size = 0;   ///< A: learning rate × bias correction, which is exact if both are
                            ///< floats. B: learning rate
    double norm_limit = 0;  ///< upper bound of the parameters' norm in the ratio: 10,000 in A's
                            ///< original; B's has no limit: the largest double
    LambVariant variant = LambVariant::kStepDebiased;  ///< A or B
    bool adapts = true;  ///< false: the ratio is 1. In B's original only tensors that decay adapt
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
///           apex FusedLAMB. Differs from the last: multiplies the gradient by a clip factor, while
///           apex divides by max(1, ‖g‖ ÷ limit); the caller passes constants as exact floats
double lamb(std::span<float> parameters, std::span<float> first_moment,
            std::span<float> second_moment, std::span<const float> gradient,
            const LambScalars& scalars, const Workers& workers = ThisThread{});

}  // namespace dedloc::kernels
