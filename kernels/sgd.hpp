// SGD with momentum and LARC, which sets the rate of each tensor: SwAV's optimizer.
#pragma once

#include <span>

#include "kernels/arithmetic.hpp"
#include "kernels/workers.hpp"

namespace dedloc::kernels {

/// Scalars of one update of one tensor; inputs, never computed here.
struct SgdScalars {
    SgdElementScalars element{};  ///< shared by all elements
    double trust = 0;    ///< LARC's coefficient, 0.001 in the original; 0 switches LARC off
    double epsilon = 0;  ///< added to LARC's denominator; 10⁻⁸ in the original
};

/// One update of one tensor, in place.
///
///     g = clip_factor × gradient
///     rate = float(trust ‖p‖ ÷ (‖g‖ + decay ‖p‖ + ε));  with ‖p‖ = 0 or ‖g‖ = 0: rate 1, decay 0
///     b = momentum × b + rate × (g + decay × p)
///     p = p − learning_rate × b
///
/// Elements in fp32, norms (by the rule of reduction.hpp) and the rate in double; every operation
/// rounded separately. Without LARC the rate is 1 and the decay is unchanged.
///
/// Returns   the rate
/// Shapes    all three N ≤ 2³²; N = 0 does nothing and returns 1
/// Requires  equal extents, no overlap, finite scalars, trust, ε and decay ≥ 0     (aborts);
///           finite elements
/// Thread    any
/// Cost      8 + 20 = 28 bytes an element; 20 without LARC
/// Source    torch.optim.SGD inside apex's LARC with clip=False, as DeDLOC ran it
float sgd(std::span<float> parameters, std::span<float> momentum, std::span<const float> gradient,
          const SgdScalars& scalars, const Workers& workers = ThisThread{});

}  // namespace dedloc::kernels
