#include "kernels/lamb.hpp"

#include <cmath>

#include "kernels/check.hpp"
#include "kernels/exact_arithmetic.hpp"
#include "kernels/reduction.hpp"
#include "kernels/requirements.hpp"

namespace dedloc::kernels {
namespace {

template <LambVariant kVariant>
DEDLOC_LOOP float direction(float p, float m, float v, const LambElementScalars& s) {
    return kVariant == LambVariant::kStepDebiased ? lamb_direction(p, m, v, s)
                                                  : lamb_debiased_direction(p, m, v, s);
}

/// Computes the new moments of one row, and adds up the squares of its parameters and directions.
template <LambVariant kVariant>
struct MomentsRow {
    DEDLOC_LOOP void run(const float* p, float* m, float* v, const float* gradient,
                         double* p_squares, double* u_squares, std::size_t count,
                         LambElementScalars s) {
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) {
            const float g = s.clip_factor * gradient[i];
            const float next_m = lamb_first_moment(m[i], g, s);
            const float next_v = lamb_second_moment(v[i], g, s);
            m[i] = next_m;
            v[i] = next_v;
            p_squares[i] += exact_square(p[i]);
            u_squares[i] += exact_square(direction<kVariant>(p[i], next_m, next_v, s));
        }
    }
};

template <LambVariant kVariant>
struct StepRow {
    DEDLOC_LOOP void run(float* p, const float* m, const float* v, std::size_t count,
                         LambElementScalars s, float factor) {
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) {
            p[i] = p[i] - factor * direction<kVariant>(p[i], m[i], v[i], s);
        }
    }
};

}  // namespace

void require_lamb(std::span<const float> p, std::span<const float> m, std::span<const float> v,
                  std::span<const float> gradient, const LambScalars& scalars) {
    DEDLOC_KERNEL_REQUIRE(
        m.size() == p.size() && v.size() == p.size() && gradient.size() == p.size(),
        "parameters, moments and gradient of a tensor must have one length",
        static_cast<double>(p.size()), static_cast<double>(m.size()), static_cast<double>(v.size()),
        static_cast<double>(gradient.size()));
    DEDLOC_KERNEL_REQUIRE(p.size() <= kMaxElements, "more elements than a reduction can take",
                          static_cast<double>(p.size()));
    DEDLOC_KERNEL_REQUIRE(!overlap(p, m) && !overlap(p, v) && !overlap(m, v) &&
                              !overlap(p, gradient) && !overlap(m, gradient) &&
                              !overlap(v, gradient),
                          "parameters, moments and gradient of a tensor overlap");
    const LambElementScalars& s = scalars.element;
    DEDLOC_KERNEL_REQUIRE(is_finite(s.beta1) && is_finite(s.one_minus_beta1) &&
                              is_finite(s.beta2) && is_finite(s.one_minus_beta2) &&
                              is_finite(s.epsilon) && is_finite(s.weight_decay) &&
                              is_finite(s.clip_factor) && is_finite(s.first_correction) &&
                              is_finite(s.second_correction) && std::isfinite(scalars.step_size) &&
                              std::isfinite(scalars.norm_limit),
                          "the scalars of an update must be finite");
    DEDLOC_KERNEL_REQUIRE(s.epsilon > 0, "epsilon must be positive",
                          static_cast<double>(s.epsilon));
    DEDLOC_KERNEL_REQUIRE(scalars.norm_limit >= 0, "a norm limit must not be negative",
                          scalars.norm_limit);
    DEDLOC_KERNEL_REQUIRE(s.first_correction > 0 && s.first_correction <= 1 &&
                              s.second_correction > 0 && s.second_correction <= 1,
                          "the corrections of an update lie between 0 and 1",
                          static_cast<double>(s.first_correction),
                          static_cast<double>(s.second_correction));
    DEDLOC_KERNEL_REQUIRE(scalars.variant == LambVariant::kMomentsDebiased ||
                              (s.first_correction == 1 && s.second_correction == 1),
                          "only the variant that de-biases moments has corrections");
}

namespace {

struct Tensor {
    std::span<float> p, m, v;
    std::span<const float> gradient;
};

template <LambVariant kVariant>
double update(const Tensor& t, const LambScalars& scalars, const Workers& workers) {
    const ExactArithmetic exact;
    const InstructionSet set = workers.instruction_set();
    const auto [p_squares, u_squares] =
        tree_sums<2>(t.p.size(), workers, [&](std::size_t first, std::size_t count, auto& lanes) {
            run_for<MomentsRow<kVariant>>(set, t.p.data() + first, t.m.data() + first,
                                          t.v.data() + first, t.gradient.data() + first,
                                          lanes[0].sums.data(), lanes[1].sums.data(), count,
                                          scalars.element);
        });
    const double p_norm = std::sqrt(p_squares);
    const double u_norm = std::sqrt(u_squares);
    const double bounded = p_norm > scalars.norm_limit ? scalars.norm_limit : p_norm;
    const bool is_plain = !scalars.adapts || bounded == 0 || u_norm == 0;
    const double ratio = is_plain ? 1.0 : bounded / u_norm;
    const auto factor = static_cast<float>(scalars.step_size * ratio);
    for_each_segment(t.p.size(), workers, [&](std::size_t first, std::size_t count) {
        run_for<StepRow<kVariant>>(set, t.p.data() + first, t.m.data() + first, t.v.data() + first,
                                   count, scalars.element, factor);
    });
    return ratio;
}

}  // namespace

double lamb(std::span<float> parameters, std::span<float> first_moment,
            std::span<float> second_moment, std::span<const float> gradient,
            const LambScalars& scalars, const Workers& workers) {
    require_lamb(parameters, first_moment, second_moment, gradient, scalars);
    const Tensor tensor{
        .p = parameters, .m = first_moment, .v = second_moment, .gradient = gradient};
    return scalars.variant == LambVariant::kStepDebiased
               ? update<LambVariant::kStepDebiased>(tensor, scalars, workers)
               : update<LambVariant::kMomentsDebiased>(tensor, scalars, workers);
}

}  // namespace dedloc::kernels
