// Updates of a single tensor that is a whole vector, as most tests of the optimizers need them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "kernels/lamb.hpp"
#include "kernels/sgd.hpp"

namespace dedloc::tests {

/// How an optimizer treats the tensor.
struct Treatment {
    bool decays = true;  ///< TensorPlace::decays
    bool adapts = true;  ///< TensorPlace::adapts
};

/// The table of a vector with one tensor.
inline kernels::SegmentTable one_tensor(std::size_t count, Treatment treatment = {}) {
    const kernels::TensorPlace place{
        .count = count, .decays = treatment.decays, .adapts = treatment.adapts};
    return kernels::SegmentTable{std::span{&place, 1}};
}

/// The table of a vector that is rows of this length, the last one shorter.
inline kernels::SegmentTable rows_of(std::size_t count, std::size_t length) {
    std::vector<kernels::TensorPlace> rows;
    for (std::size_t at = 0; at < count; at += length) {
        rows.push_back({.offset = at, .count = std::min(length, count - at)});
    }
    return kernels::SegmentTable{rows};
}

/// kernels::lamb on one tensor; returns its ratio.
inline double lamb_of_one(const kernels::LambVectors& vectors, const kernels::LambScalars& scalars,
                          Treatment treatment = {},
                          const kernels::Workers& workers = kernels::ThisThread{}) {
    std::array<double, 1> ratio{};
    kernels::lamb(vectors, one_tensor(vectors.parameters.size(), treatment), scalars, ratio,
                  workers);
    return ratio[0];
}

/// kernels::sgd on one tensor; returns its rate.
inline float sgd_of_one(const kernels::SgdVectors& vectors, const kernels::SgdScalars& scalars,
                        const kernels::Workers& workers = kernels::ThisThread{}) {
    std::array<float, 1> rate{};
    kernels::sgd(vectors, one_tensor(vectors.parameters.size()), scalars, rate, workers);
    return rate[0];
}

}  // namespace dedloc::tests
