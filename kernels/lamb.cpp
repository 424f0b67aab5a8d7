// The first pass over the elements computes the new moments and, for each tensor, the sums of
// squares of parameters and directions. The calling thread turns these into one factor for each
// tensor, in double. The second pass computes the directions again from the stored moments and
// moves the parameters. Parameters do not change before all norms are known. Segments are spread
// over the workers, but sums follow the rule of reduction.hpp, so the number of threads changes no
// bit.
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

void require_lamb(const LambVectors& vectors, std::uint64_t end, const LambScalars& scalars) {
    const auto& [p, m, v, gradient] = vectors;
    DEDLOC_KERNEL_REQUIRE(
        m.size() == p.size() && v.size() == p.size() && gradient.size() == p.size(),
        "parameters, moments and gradient must have one length", static_cast<double>(p.size()),
        static_cast<double>(m.size()), static_cast<double>(v.size()),
        static_cast<double>(gradient.size()));
    DEDLOC_KERNEL_REQUIRE(end <= p.size(), "a tensor lies beyond the end of its vector",
                          static_cast<double>(end), static_cast<double>(p.size()));
    DEDLOC_KERNEL_REQUIRE(!overlap(p, m) && !overlap(p, v) && !overlap(m, v) &&
                              !overlap(p, gradient) && !overlap(m, gradient) &&
                              !overlap(v, gradient),
                          "parameters, moments and gradient overlap");
    const LambElementScalars& s = scalars.element;
    DEDLOC_KERNEL_REQUIRE(
        is_finite(s.beta1) && is_finite(s.one_minus_beta1) && is_finite(s.beta2) &&
            is_finite(s.one_minus_beta2) && is_finite(s.epsilon) && is_finite(s.weight_decay) &&
            is_finite(s.clip_factor) && is_finite(s.first_correction) &&
            is_finite(s.second_correction) && std::isfinite(scalars.learning_rate) &&
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
}

double lamb_step(const LambScalars& scalars) {
    if (scalars.variant == LambVariant::kMomentsDebiased) return scalars.learning_rate;
    const ExactArithmetic exact;
    // Volatile, or a compiler might compute this while the thread's own rounding is in force.
    const volatile double first = static_cast<double>(scalars.element.first_correction);
    const volatile double second = static_cast<double>(scalars.element.second_correction);
    const volatile double step = scalars.learning_rate * (std::sqrt(second) / first);
    return step;
}

namespace {

LambElementScalars scalars_of(const TensorSegments& tensor, LambElementScalars scalars) {
    if (!tensor.decays) scalars.weight_decay = 0;
    return scalars;
}

template <LambVariant kVariant>
void update(const LambVectors& all, const SegmentTable& table, const LambScalars& scalars,
            std::span<double> ratios, const Workers& workers) {
    const InstructionSet set = workers.instruction_set();
    float* const p = all.parameters.data();
    float* const m = all.first_moment.data();
    float* const v = all.second_moment.data();
    const auto sums = tensor_sums<2>(
        table, workers,
        [&](const TensorSegment& segment, std::size_t first, std::size_t count, auto& lanes) {
            run_for<MomentsRow<kVariant>>(
                set, p + first, m + first, v + first, all.gradient.data() + first,
                lanes[0].sums.data(), lanes[1].sums.data(), count,
                scalars_of(table.tensors()[segment.tensor], scalars.element));
        });
    const double step = lamb_step(scalars);
    const ExactArithmetic exact;
    std::vector<float> factors;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const double p_norm = std::sqrt(sums[i][0]);
        const double u_norm = std::sqrt(sums[i][1]);
        const double bounded = p_norm > scalars.norm_limit ? scalars.norm_limit : p_norm;
        const bool is_plain = !table.tensors()[i].adapts || bounded == 0 || u_norm == 0;
        const double ratio = is_plain ? 1.0 : bounded / u_norm;
        factors.push_back(static_cast<float>(step * ratio));
        if (!ratios.empty()) ratios[i] = ratio;
    }
    for_each_segment(table, workers, [&](const TensorSegment& segment) {
        run_for<StepRow<kVariant>>(set, p + segment.first, m + segment.first, v + segment.first,
                                   std::size_t{segment.count},
                                   scalars_of(table.tensors()[segment.tensor], scalars.element),
                                   factors[segment.tensor]);
    });
}

}  // namespace

void lamb(const LambVectors& vectors, const SegmentTable& table, const LambScalars& scalars,
          std::span<double> ratios, const Workers& workers) {
    require_lamb(vectors, table.end(), scalars);
    require_results(ratios.size(), table.tensors().size());
    if (scalars.variant == LambVariant::kStepDebiased) {
        update<LambVariant::kStepDebiased>(vectors, table, scalars, ratios, workers);
    } else {
        update<LambVariant::kMomentsDebiased>(vectors, table, scalars, ratios, workers);
    }
}

}  // namespace dedloc::kernels
