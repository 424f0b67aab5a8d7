#include "kernels/accumulate.hpp"

#include <cstdint>

#include "kernels/arithmetic.hpp"
#include "kernels/check.hpp"
#include "kernels/exact_arithmetic.hpp"
#include "kernels/reduction.hpp"

namespace dedloc::kernels {
namespace {

/// One row; returns the number of new sums that are not finite.
std::uint32_t accumulate_row(float* __restrict sum, const float* __restrict gradient,
                             double* __restrict squares, std::size_t count, float scale) {
    std::uint32_t bad = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const float term = scale * gradient[i];
        const float next = sum[i] + term;
        sum[i] = next;
        squares[i] += exact_square(term);
        bad += is_finite(next) ? 0u : 1u;
    }
    return bad;
}

}  // namespace

Accumulated accumulate(std::span<float> sum, std::span<const float> gradient, float scale) {
    DEDLOC_KERNEL_REQUIRE(sum.size() == gradient.size(),
                          "the gradient has another length than the sum it is added to",
                          static_cast<double>(gradient.size()), static_cast<double>(sum.size()));
    DEDLOC_KERNEL_REQUIRE(sum.size() <= kMostElements, "more elements than a reduction can take",
                          static_cast<double>(sum.size()));
    DEDLOC_KERNEL_REQUIRE(is_finite(scale), "the scale of a gradient must be finite",
                          static_cast<double>(scale));
    DEDLOC_KERNEL_REQUIRE(!overlap(sum, gradient), "the gradient overlaps its sum");
    const ExactArithmetic exact;
    TreeSum squares;
    std::uint64_t bad = 0;
    for_each_row(
        sum.size(),
        [&](std::size_t first, std::size_t count) {
            bad += accumulate_row(sum.data() + first, gradient.data() + first, squares.lanes(),
                                  count, scale);
        },
        [&] { squares.end_segment(); });
    return {.sum_of_squares = squares.total(), .is_finite = bad == 0};
}

}  // namespace dedloc::kernels
