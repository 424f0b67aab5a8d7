// Adds one micro-batch's gradient to a peer's contribution.
#pragma once

#include <span>

#include "kernels/arithmetic.hpp"
#include "kernels/workers.hpp"

namespace dedloc::kernels {

/// The result of accumulate.
struct Accumulated {
    double sum_of_squares;  ///< Σ (scale × gradient[i])² of the rounded terms, in the order of
                            ///< reduction.hpp
    bool is_finite;         ///< every new sum[i] is finite; later calls on the same sum keep false
};

/// Adds a scaled gradient to a running sum.
///
///     sum[i] = sum[i] + scale × float(gradient[i])          (product and sum rounded separately)
///
/// Shapes    sum N ≤ 2³², gradient N; N = 0 does nothing
/// Requires  scale finite, sum and gradient do not overlap     (aborts)
/// Errors    none; a non-finite gradient is reported, not refused      Thread  any
/// Cost      12 bytes an element; 10 from fp16 and bf16
/// Call it qualified: with spans, argument-dependent lookup also finds std::accumulate.
Accumulated accumulate(std::span<float> sum, std::span<const float> gradient, float scale,
                       const Workers& workers = ThisThread{});
Accumulated accumulate(std::span<float> sum, std::span<const Half> gradient, float scale,
                       const Workers& workers = ThisThread{});
Accumulated accumulate(std::span<float> sum, std::span<const Bfloat16> gradient, float scale,
                       const Workers& workers = ThisThread{});

}  // namespace dedloc::kernels
