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
#include "kernels/segment_table.hpp"
#include "kernels/workers.hpp"

namespace dedloc::kernels {

/// The two variants above.
enum class LambVariant : std::uint8_t {
    kStepDebiased,     ///< A
    kMomentsDebiased,  ///< B
};

/// Scalars of one update. They are inputs, never computed here: powers and schedules need libm or
/// long products, so the coordinator computes them once and every peer uses the same bits.
struct LambScalars {
    LambElementScalars element{};  ///< the decay is that of tensors with TensorPlace::decays
    double learning_rate = 0;      ///< after warm-up and decay
    double norm_limit = 0;  ///< upper bound of the parameters' norm in the ratio: 10,000 in A's
                            ///< original; B's has no limit: the largest double
    LambVariant variant = LambVariant::kStepDebiased;  ///< A or B
};

/// Flat vectors of one length: a model's parameters and moments, and its gradient.
struct LambVectors {
    std::span<float> parameters, first_moment, second_moment;  ///< updated
    std::span<const float> gradient;                           ///< input
};

/// One LAMB update of all tensors of a table, in place.
///
///     g = clip_factor × gradient;   m = β₁ m + (1−β₁) g;   v = β₂ v + (1−β₂) (g g)
///     A: u = m ÷ (√v + ε) + decay × p                 step = learning_rate × (√(1−β₂ᵗ) ÷ (1−β₁ᵗ))
///     B: u = (m ÷ (1−β₁ᵗ)) ÷ (√(v ÷ (1−β₂ᵗ)) + ε) + decay × p               step = learning_rate
///     ratio = min(‖p‖, norm_limit) ÷ ‖u‖, or 1 if either norm is 0 or the tensor does not adapt
///     p = p − float(step × ratio) × u
///
/// Elements in fp32; norms (of one tensor, by the rule of reduction.hpp), step and ratio in double;
/// every operation rounded separately. A tensor without TensorPlace::decays has a decay of 0.
///
/// Shapes    all four vectors N ≥ table.end(); elements in no tensor are not touched;
///           ratios (output) one for each tensor, or empty: not wanted
/// Requires  equal extents, no overlap, finite scalars, ε > 0, norm_limit ≥ 0, both corrections
///           1 − βᵗ in (0, 1] (aborts); finite elements, v ≥ 0
/// Thread    any
/// Cost      two passes, 24 + 16 = 40 bytes an element; u is computed twice, not stored
/// Source    You et al. 2019, "Large batch optimization for deep learning"; torch_optimizer.Lamb;
///           apex FusedLAMB. Differs from the last: multiplies the gradient by a clip factor, while
///           apex divides by max(1, ‖g‖ ÷ limit); the caller passes constants as exact floats
void lamb(const LambVectors& vectors, const SegmentTable& table, const LambScalars& scalars,
          std::span<double> ratios, const Workers& workers = ThisThread{});

/// The step of the formula above. Exact arithmetic in any rounding mode of the thread.
double lamb_step(const LambScalars& scalars);

}  // namespace dedloc::kernels
