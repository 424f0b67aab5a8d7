// Tests a vector for infinities and NaNs.
#pragma once

#include <span>

#include "kernels/workers.hpp"

namespace dedloc::kernels {

/// Whether no element is infinite or NaN.
///
/// Shapes    values N; true for N = 0
/// Errors    none
/// Thread    any
/// Cost      4 bytes an element
bool all_finite(std::span<const float> values, const Workers& workers = ThisThread{});

}  // namespace dedloc::kernels
