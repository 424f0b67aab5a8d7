// Loops over rows, compiled for each instruction set. Sums and maxima of a row are taken in lanes,
// in a fixed order.
#include "boinc_app/training/attention_loops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "boinc_app/training/layer_arithmetic.hpp"

namespace dedloc::training {
namespace {

using kernels::Bfloat16;

constexpr std::size_t kLanes = 32;

DEDLOC_HOST_DEVICE inline std::uint16_t short_bits(float x) {
    return kernels::to_bfloat16(x).bits;
}

struct SoftenLoop {
    /// Calls each(column, lane) for the columns of a row.
    template <class Each>
    DEDLOC_LOOP void along(std::size_t columns, const Each& each) {
        std::size_t first = 0;
        for (; first + kLanes <= columns; first += kLanes) {
            DEDLOC_INDEPENDENT
            for (std::size_t i = 0; i < kLanes; ++i) each(first + i, i);
        }
        for (std::size_t i = 0; first + i < columns; ++i) each(first + i, i);
    }

    DEDLOC_LOOP void run(QueryScores of, QueryWeights to) {
        for (std::size_t q = 0; q < of.queries; ++q) {
            const float* const scores = of.scores + q * of.stride;
            Bfloat16* const weights = to.weights + q * of.stride;
            float largest[kLanes], sums[kLanes] = {};
            std::fill_n(largest, kLanes, -std::numeric_limits<float>::max());
            along(of.keys, [&](std::size_t k, std::size_t lane) {
                largest[lane] = scores[k] > largest[lane] ? scores[k] : largest[lane];
            });
            for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
                for (std::size_t i = 0; i < half; ++i) {
                    largest[i] = std::max(largest[i], largest[i + half]);
                }
            }
            const float top = largest[0];
            along(of.keys, [&](std::size_t k, std::size_t lane) {
                const float weight = exponential(of.scale * (scores[k] - top));
                weights[k].bits = short_bits(weight);
                sums[lane] += weight;
            });
            for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
                for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
            }
            std::fill(weights + of.keys, weights + of.stride, Bfloat16{});
            to.inverse[q] = 1 / sums[0];
            to.logarithm[q] = of.scale * top + std::log(sums[0]);
        }
    }
};

struct SoftenGradientLoop {
    DEDLOC_LOOP void run(KeyScores of, KeyWeights to) {
        for (std::size_t k = 0; k < of.keys; k += 2) {
            const std::size_t even = k * of.queries, odd = even + of.queries;
            // 0 for padding.
            const float has_even = k < of.valid_keys ? 1.0F : 0.0F;
            const float has_odd = k + 1 < of.valid_keys ? 1.0F : 0.0F;
            std::uint32_t* const pairs = to.pairs + k / 2 * of.queries;
            DEDLOC_INDEPENDENT
            for (std::size_t q = 0; q < of.queries; ++q) {
                const float along = of.along[q], logarithm = of.logarithm[q];
                const float w = has_even * exponential(of.scale * of.scores[even + q] - logarithm);
                const float x = has_odd * exponential(of.scale * of.scores[odd + q] - logarithm);
                const float by_w = of.scale * w * (of.by_weights[even + q] - along);
                const float by_x = of.scale * x * (of.by_weights[odd + q] - along);
                to.weights[even + q].bits = short_bits(w);
                to.weights[odd + q].bits = short_bits(x);
                const std::uint16_t low = short_bits(by_w), high = short_bits(by_x);
                to.by_scores[even + q].bits = low;
                to.by_scores[odd + q].bits = high;
                pairs[q] = std::uint32_t{low} | (std::uint32_t{high} << 16);
            }
        }
    }
};

}  // namespace

void soften(kernels::InstructionSet set, const QueryScores& of, const QueryWeights& to) {
    kernels::run_for<SoftenLoop>(set, of, to);
}

void soften_gradient(kernels::InstructionSet set, const KeyScores& of, const KeyWeights& to) {
    kernels::run_for<SoftenGradientLoop>(set, of, to);
}

}  // namespace dedloc::training
