// The size of a gradient, and how far it is from the expected one, whole or tensor by tensor.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>

#include "peer/base/bytes.hpp"
#include "peer/formats/run_file.hpp"

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

/// Bounds of the error of a tensor's gradient.
struct GradientBounds {
    double own = 0;  ///< relative to the norm of that gradient
    /// Relative to the norm of the whole gradient, in addition, for tensors whose own gradient is
    /// zero but for rounding.
    double rounding = 0;
    double negligible = 0;  ///< norm of a gradient for which `own` alone is not required
};

/// Checks the gradient of each tensor of the run; `expected_of(name)` is the expected one.
template <class ExpectedOf>
void check_gradients(const formats::RunFile& run, const FloatVector& gradient,
                     const GradientBounds& bounds, const ExpectedOf& expected_of) {
    const auto offsets = formats::tensor_offsets(run);
    const double whole = norm(gradient);
    double largest = 0;
    for (std::size_t t = 0; t < offsets.size(); ++t) {
        const std::string& tensor = run.tensors[t].name;
        FloatVector expected = expected_of(tensor);
        const double size = norm(expected);
        for (std::size_t i = 0; i < expected.size(); ++i) expected[i] -= gradient[offsets[t] + i];
        const double error = norm(expected);
        CAPTURE(tensor, error, size, whole);
        CHECK(error <= bounds.own * size + bounds.rounding * whole);
        if (size > bounds.negligible) largest = std::max(largest, error / size);
    }
    INFO("largest relative error of a gradient: " << largest);
    CHECK(largest <= bounds.own);
}

}  // namespace dedloc::test
