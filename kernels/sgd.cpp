#include "kernels/sgd.hpp"

#include <cmath>

#include "kernels/check.hpp"
#include "kernels/reduction.hpp"
#include "kernels/requirements.hpp"

namespace dedloc::kernels {
namespace {

struct SquaresRow {
    DEDLOC_LOOP void run(const float* p, const float* gradient, double* p_squares,
                         double* g_squares, std::size_t count, float clip_factor) {
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) {
            p_squares[i] += exact_square(p[i]);
            g_squares[i] += exact_square(clip_factor * gradient[i]);
        }
    }
};

struct UpdateRow {
    DEDLOC_LOOP void run(float* p, float* b, const float* gradient, std::size_t count, float rate,
                         SgdElementScalars s) {
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) {
            const float next_b = sgd_momentum(b[i], sgd_direction(p[i], gradient[i], rate, s), s);
            b[i] = next_b;
            p[i] = p[i] - s.learning_rate * next_b;
        }
    }
};

}  // namespace

void require_sgd(std::span<const float> p, std::span<const float> b,
                 std::span<const float> gradient, const SgdScalars& scalars) {
    DEDLOC_KERNEL_REQUIRE(b.size() == p.size() && gradient.size() == p.size(),
                          "parameters, momentum and gradient of a tensor must have one length",
                          static_cast<double>(p.size()), static_cast<double>(b.size()),
                          static_cast<double>(gradient.size()));
    DEDLOC_KERNEL_REQUIRE(p.size() <= kMaxElements, "more elements than a reduction can take",
                          static_cast<double>(p.size()));
    DEDLOC_KERNEL_REQUIRE(!overlap(p, b) && !overlap(p, gradient) && !overlap(b, gradient),
                          "parameters, momentum and gradient of a tensor overlap");
    const SgdElementScalars& s = scalars.element;
    DEDLOC_KERNEL_REQUIRE(is_finite(s.learning_rate) && is_finite(s.momentum) &&
                              is_finite(s.weight_decay) && is_finite(s.clip_factor) &&
                              std::isfinite(scalars.trust) && std::isfinite(scalars.epsilon),
                          "the scalars of an update must be finite");
    DEDLOC_KERNEL_REQUIRE(scalars.trust >= 0 && scalars.epsilon >= 0 && s.weight_decay >= 0,
                          "trust, epsilon and decay must not be negative", scalars.trust,
                          scalars.epsilon, static_cast<double>(s.weight_decay));
}

float sgd(std::span<float> parameters, std::span<float> momentum, std::span<const float> gradient,
          const SgdScalars& scalars, const Workers& workers) {
    require_sgd(parameters, momentum, gradient, scalars);
    const ExactArithmetic exact;
    const InstructionSet set = workers.instruction_set();
    SgdElementScalars element = scalars.element;
    float rate = 1;
    if (scalars.trust > 0) {
        const auto [p_squares, g_squares] = tree_sums<2>(
            parameters.size(), workers, [&](std::size_t first, std::size_t count, auto& lanes) {
                run_for<SquaresRow>(set, parameters.data() + first, gradient.data() + first,
                                    lanes[0].sums.data(), lanes[1].sums.data(), count,
                                    element.clip_factor);
            });
        if (p_squares == 0 || g_squares == 0) {
            element.weight_decay = 0;
        } else {
            const double p_norm = std::sqrt(p_squares);
            const double divisor = std::sqrt(g_squares) +
                                   static_cast<double>(element.weight_decay) * p_norm +
                                   scalars.epsilon;
            rate = static_cast<float>(scalars.trust * p_norm / divisor);
        }
    }
    for_each_segment(parameters.size(), workers, [&](std::size_t first, std::size_t count) {
        run_for<UpdateRow>(set, parameters.data() + first, momentum.data() + first,
                           gradient.data() + first, count, rate, element);
    });
    return rate;
}

}  // namespace dedloc::kernels
