// SGD with momentum and LARC, which sets the rate of each tensor: SwAV's optimizer.
#pragma once

#include <span>

#include "kernels/arithmetic.hpp"
#include "kernels/segment_table.hpp"
#include "kernels/workers.hpp"

namespace dedloc::kernels {

/// Scalars of one update; inputs, never computed here.
struct SgdScalars {
    SgdElementScalars element{};  ///< the decay is that of tensors with TensorPlace::decays
    double trust = 0;    ///< LARC's coefficient, 0.001 in the original; 0 switches LARC off
    double epsilon = 0;  ///< added to LARC's denominator; 10⁻⁸ in the original
};

/// Flat vectors of one length: a model's parameters and momentum, and its gradient.
struct SgdVectors {
    std::span<float> parameters, momentum;  ///< updated
    std::span<const float> gradient;        ///< input
};

/// One update of all tensors of a table, in place.
///
///     g = clip_factor × gradient
///     rate = float(trust ‖p‖ ÷ (‖g‖ + decay ‖p‖ + ε));  with ‖p‖ = 0 or ‖g‖ = 0: rate 1, decay 0
///     b = momentum × b + rate × (g + decay × p)
///     p = p − learning_rate × b
///
/// Elements in fp32, norms (of one tensor, by the rule of reduction.hpp) and the rate in double;
/// every operation rounded separately. A tensor without TensorPlace::decays has a decay of 0.
/// Without LARC, and for a tensor that does not adapt, the rate is 1 and the decay unchanged.
///
/// Shapes    all three vectors N ≥ table.end(); elements in no tensor are not touched;
///           rates (output) one for each tensor, or empty: not wanted
/// Requires  equal extents, no overlap, finite scalars, trust, ε and decay ≥ 0     (aborts);
///           finite elements
/// Thread    any
/// Cost      8 + 20 = 28 bytes an element; 20 without LARC
/// Source    torch.optim.SGD inside apex's LARC with clip=False, as DeDLOC ran it
void sgd(const SgdVectors& vectors, const SegmentTable& table, const SgdScalars& scalars,
         std::span<float> rates, const Workers& workers = ThisThread{});

}  // namespace dedloc::kernels
