#include "kernels/lamb.hpp"

#include <cmath>

#include "kernels/check.hpp"
#include "kernels/exact_arithmetic.hpp"
#include "kernels/reduction.hpp"

namespace dedloc::kernels {
namespace {

/// New moments of one row, and the squares of its parameters and directions.
void moments_row(const float* __restrict p, float* __restrict m, float* __restrict v,
                 const float* __restrict gradient, double* __restrict p_squares,
                 double* __restrict u_squares, std::size_t count, const LambElementScalars s) {
    for (std::size_t i = 0; i < count; ++i) {
        const float g = s.clip_factor * gradient[i];
        const float next_m = lamb_first_moment(m[i], g, s);
        const float next_v = lamb_second_moment(v[i], g, s);
        m[i] = next_m;
        v[i] = next_v;
        p_squares[i] += exact_square(p[i]);
        u_squares[i] += exact_square(lamb_direction(p[i], next_m, next_v, s));
    }
}

void step_all(float* __restrict p, const float* __restrict m, const float* __restrict v,
              std::size_t count, const LambElementScalars s, float factor) {
    for (std::size_t i = 0; i < count; ++i) {
        p[i] = p[i] - factor * lamb_direction(p[i], m[i], v[i], s);
    }
}

void check_use(std::span<const float> p, std::span<const float> m, std::span<const float> v,
               std::span<const float> gradient, const LambScalars& scalars) {
    DEDLOC_KERNEL_REQUIRE(
        m.size() == p.size() && v.size() == p.size() && gradient.size() == p.size(),
        "parameters, moments and gradient of a tensor must have one length",
        static_cast<double>(p.size()), static_cast<double>(m.size()), static_cast<double>(v.size()),
        static_cast<double>(gradient.size()));
    DEDLOC_KERNEL_REQUIRE(p.size() <= kMostElements, "more elements than a reduction can take",
                          static_cast<double>(p.size()));
    DEDLOC_KERNEL_REQUIRE(!overlap(p, m) && !overlap(p, v) && !overlap(m, v) &&
                              !overlap(p, gradient) && !overlap(m, gradient) &&
                              !overlap(v, gradient),
                          "parameters, moments and gradient of a tensor overlap");
    const LambElementScalars& s = scalars.element;
    DEDLOC_KERNEL_REQUIRE(is_finite(s.beta1) && is_finite(s.one_minus_beta1) &&
                              is_finite(s.beta2) && is_finite(s.one_minus_beta2) &&
                              is_finite(s.epsilon) && is_finite(s.weight_decay) &&
                              is_finite(s.clip_factor) && std::isfinite(scalars.step_size) &&
                              std::isfinite(scalars.norm_limit),
                          "the scalars of an update must be finite");
    DEDLOC_KERNEL_REQUIRE(s.epsilon > 0, "epsilon must be positive",
                          static_cast<double>(s.epsilon));
}

}  // namespace

double lamb(std::span<float> parameters, std::span<float> first_moment,
            std::span<float> second_moment, std::span<const float> gradient,
            const LambScalars& scalars) {
    check_use(parameters, first_moment, second_moment, gradient, scalars);
    const ExactArithmetic exact;
    TreeSum p_squares;
    TreeSum u_squares;
    for_each_row(
        parameters.size(),
        [&](std::size_t first, std::size_t count) {
            moments_row(parameters.data() + first, first_moment.data() + first,
                        second_moment.data() + first, gradient.data() + first, p_squares.lanes(),
                        u_squares.lanes(), count, scalars.element);
        },
        [&] {
            p_squares.end_segment();
            u_squares.end_segment();
        });
    const double p_norm = std::sqrt(p_squares.total());
    const double u_norm = std::sqrt(u_squares.total());
    const double bounded = p_norm > scalars.norm_limit ? scalars.norm_limit : p_norm;
    const double ratio = bounded == 0 || u_norm == 0 ? 1.0 : bounded / u_norm;
    step_all(parameters.data(), first_moment.data(), second_moment.data(), parameters.size(),
             scalars.element, static_cast<float>(scalars.step_size * ratio));
    return ratio;
}

}  // namespace dedloc::kernels
