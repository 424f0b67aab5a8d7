// Norms by one fixed reduction tree, and the factor that clips by the norm.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/workers.hpp"

namespace dedloc::kernels {

/// Σ values[i]² in double, in the order of reduction.hpp. Squares are exact, and double cannot
/// overflow here, so the result is finite exactly if every element is.
///
/// Shapes    values N ≤ 2³²; 0 for N = 0      Thread  any      Cost  4 bytes an element
double sum_of_squares(std::span<const float> values, const Workers& workers = ThisThread{});

/// √ of sum_of_squares: the norm of a whole gradient, or of one tensor.
double global_norm(std::span<const float> values, const Workers& workers = ThisThread{});

/// Neighbouring elements of a vector.
struct ElementRange {
    std::uint64_t first = 0;  ///< index of the first one
    std::uint64_t count = 0;  ///< their number
    bool operator==(const ElementRange&) const = default;
};

/// The same norm with the elements of these ranges taken as 0, whatever they hold.
///
/// Requires  ranges in ascending order within `values` that do not overlap      (aborts)
double global_norm(std::span<const float> values, std::span<const ElementRange> ignored,
                   const Workers& workers = ThisThread{});

/// The factor by which a gradient of norm `norm` is multiplied so that its norm is at most `limit`;
/// the optimizers multiply by it in their own pass:
///
///     float(limit ÷ norm) if norm > limit > 0, else 1
///
/// limit = 0 switches clipping off.
/// Requires  norm finite and ≥ 0, limit finite and ≥ 0      (aborts)
/// Source    torch.nn.utils.clip_grad_norm_; differs: no 1e-6 added to the norm
float clip_factor(double norm, float limit);

}  // namespace dedloc::kernels
