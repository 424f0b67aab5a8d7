// The size of a gradient, and how far it is from the expected one.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include "peer/base/bytes.hpp"

namespace dedloc::test {

/// The square root of the sum of squares, in double.
inline double norm(std::span<const float> values) {
    double sum = 0;
    for (const float x : values) sum += double{x} * double{x};
    return std::sqrt(sum);
}

/// The norm of the difference, relative to the norm of `expected`. Requires equal sizes.
inline double relative_error(const FloatVector& measured, const FloatVector& expected) {
    double sum = 0;
    double norm = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        sum += std::pow(double{measured[i]} - double{expected[i]}, 2);
        norm += std::pow(double{expected[i]}, 2);
    }
    return std::sqrt(sum / norm);
}

}  // namespace dedloc::test
