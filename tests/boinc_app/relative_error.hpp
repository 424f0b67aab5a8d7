// How far a gradient is from the expected one.
#pragma once

#include <cmath>
#include <cstddef>

#include "peer/base/bytes.hpp"

namespace dedloc::test {

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
