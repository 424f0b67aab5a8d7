// LARC needs a first pass, which adds up the squares of parameters and clipped gradients of each
// tensor; the calling thread computes a rate and a decay for each tensor from them, in double. The
// last pass, which is the only one without LARC, updates momentum and parameters. Both are spread
// over the workers by segments, and the sums follow the rule of reduction.hpp, so the number of
// threads changes no bit.
#include "kernels/sgd.hpp"

#include <cmath>

#include "kernels/check.hpp"
#include "kernels/exact_arithmetic.hpp"
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

/// The result of LARC for a tensor.
struct Larc {
    float rate;          ///< multiplies the direction
    float weight_decay;  ///< 0 if a norm is 0
};

Larc larc(double p_squares, double g_squares, float weight_decay, const SgdScalars& scalars) {
    if (p_squares == 0 || g_squares == 0) return {.rate = 1, .weight_decay = 0};
    const double p_norm = std::sqrt(p_squares);
    const double divisor =
        std::sqrt(g_squares) + static_cast<double>(weight_decay) * p_norm + scalars.epsilon;
    return {.rate = static_cast<float>(scalars.trust * p_norm / divisor),
            .weight_decay = weight_decay};
}

/// Rate and decay of every tensor. LARC's norms are computed for all tensors if any of them adapts.
std::vector<Larc> factors_of(const SgdVectors& vectors, const SegmentTable& table,
                             const SgdScalars& scalars, const Workers& workers) {
    std::vector<Larc> factors;
    for (const TensorSegments& tensor : table.tensors()) {
        factors.push_back(
            {.rate = 1, .weight_decay = tensor.decays ? scalars.element.weight_decay : 0.0f});
    }
    if (scalars.trust <= 0) return factors;
    const InstructionSet set = workers.instruction_set();
    const auto sums = tensor_sums<2>(
        table, workers,
        [&](const TensorSegment&, std::size_t first, std::size_t count, auto& lanes) {
            run_for<SquaresRow>(set, vectors.parameters.data() + first,
                                vectors.gradient.data() + first, lanes[0].sums.data(),
                                lanes[1].sums.data(), count, scalars.element.clip_factor);
        });
    const ExactArithmetic exact;
    for (std::size_t i = 0; i < factors.size(); ++i) {
        if (!table.tensors()[i].adapts) continue;
        factors[i] = larc(sums[i][0], sums[i][1], factors[i].weight_decay, scalars);
    }
    return factors;
}

}  // namespace

void require_sgd(const SgdVectors& vectors, std::uint64_t end, const SgdScalars& scalars) {
    const auto& [p, b, gradient] = vectors;
    DEDLOC_KERNEL_REQUIRE(b.size() == p.size() && gradient.size() == p.size(),
                          "parameters, momentum and gradient must have one length",
                          static_cast<double>(p.size()), static_cast<double>(b.size()),
                          static_cast<double>(gradient.size()));
    DEDLOC_KERNEL_REQUIRE(end <= p.size(), "a tensor lies beyond the end of its vector",
                          static_cast<double>(end), static_cast<double>(p.size()));
    DEDLOC_KERNEL_REQUIRE(!overlap(p, b) && !overlap(p, gradient) && !overlap(b, gradient),
                          "parameters, momentum and gradient overlap");
    const SgdElementScalars& s = scalars.element;
    DEDLOC_KERNEL_REQUIRE(is_finite(s.learning_rate) && is_finite(s.momentum) &&
                              is_finite(s.weight_decay) && is_finite(s.clip_factor) &&
                              std::isfinite(scalars.trust) && std::isfinite(scalars.epsilon),
                          "the scalars of an update must be finite");
    DEDLOC_KERNEL_REQUIRE(scalars.trust >= 0 && scalars.epsilon >= 0 && s.weight_decay >= 0,
                          "trust, epsilon and decay must not be negative", scalars.trust,
                          scalars.epsilon, static_cast<double>(s.weight_decay));
}

void sgd(const SgdVectors& vectors, const SegmentTable& table, const SgdScalars& scalars,
         std::span<float> rates, const Workers& workers) {
    require_sgd(vectors, table.end(), scalars);
    require_results(rates.size(), table.tensors().size());
    const std::vector<Larc> factors = factors_of(vectors, table, scalars, workers);
    const InstructionSet set = workers.instruction_set();
    for_each_segment(table, workers, [&](const TensorSegment& segment) {
        const auto [rate, weight_decay] = factors[segment.tensor];
        SgdElementScalars element = scalars.element;
        element.weight_decay = weight_decay;
        run_for<UpdateRow>(
            set, vectors.parameters.data() + segment.first, vectors.momentum.data() + segment.first,
            vectors.gradient.data() + segment.first, std::size_t{segment.count}, rate, element);
    });
    for (std::size_t i = 0; i < rates.size(); ++i) rates[i] = factors[i].rate;
}

}  // namespace dedloc::kernels
