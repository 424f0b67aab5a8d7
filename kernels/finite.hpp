// Tests a vector for infinities, NaNs and numbers that are too large.
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

/// Whether the magnitude of every element is less than `limit`. False for a NaN; for an infinity
/// also if the limit is one.
///
/// Shapes    values N; true for N = 0
/// Errors    none
/// Thread    any
/// Cost      4 bytes an element
bool all_below(std::span<const float> values, float limit, const Workers& workers = ThisThread{});

}  // namespace dedloc::kernels
