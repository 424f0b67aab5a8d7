#include "kernels/global_norm.hpp"

#include <cmath>

#include "kernels/arithmetic.hpp"
#include "kernels/check.hpp"
#include "kernels/exact_arithmetic.hpp"
#include "kernels/reduction.hpp"

namespace dedloc::kernels {
namespace {

void add_squares(double* __restrict lanes, const float* __restrict values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) lanes[i] += exact_square(values[i]);
}

}  // namespace

double sum_of_squares(std::span<const float> values) {
    DEDLOC_KERNEL_REQUIRE(values.size() <= kMostElements, "more elements than a reduction can take",
                          static_cast<double>(values.size()));
    const ExactArithmetic exact;
    TreeSum sum;
    for_each_row(
        values.size(),
        [&](std::size_t first, std::size_t count) {
            add_squares(sum.lanes(), values.data() + first, count);
        },
        [&] { sum.end_segment(); });
    return sum.total();
}

double global_norm(std::span<const float> values) {
    const ExactArithmetic exact;
    return std::sqrt(sum_of_squares(values));
}

float clip_factor(double norm, float limit) {
    DEDLOC_KERNEL_REQUIRE(std::isfinite(norm) && norm >= 0, "a norm must be finite", norm);
    DEDLOC_KERNEL_REQUIRE(is_finite(limit) && limit >= 0,
                          "a norm limit must be finite and positive", static_cast<double>(limit));
    const ExactArithmetic exact;
    const auto wide_limit = static_cast<double>(limit);
    return limit > 0 && norm > wide_limit ? static_cast<float>(wide_limit / norm) : 1.0f;
}

void clip(std::span<float> values, float factor) {
    DEDLOC_KERNEL_REQUIRE(is_finite(factor), "a clip factor must be finite",
                          static_cast<double>(factor));
    const ExactArithmetic exact;
    for (float& value : values) value = factor * value;
}

}  // namespace dedloc::kernels
