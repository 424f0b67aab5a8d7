// The work of one thread in the kernels of sgd.cu.
#pragma once

#include <cmath>

#include "kernels/cuda/segment_sums.hpp"

namespace dedloc::kernels::cuda {

/// Adds up the squares of parameters and of clipped gradients.
template <bool kIsAligned>
struct LarcRow {
    static constexpr bool kVector = kIsAligned;
    static constexpr unsigned kSums = 2;
    static constexpr unsigned kAhead = 4;
    static constexpr bool kFlags = false;
    struct Loaded {
        Pack<float> p, gradient;  ///< as in the row
    };

    // Parameters, gradient and the factor of the gradient.
    const float* p;
    const float* gradient;
    const float* clip_factor_of_all;  ///< null: clip_factor is set by the launcher
    float clip_factor;

    /// See walk.
    DEDLOC_HOST_DEVICE void prepare() {
        if (clip_factor_of_all != nullptr) clip_factor = *clip_factor_of_all;
    }

    template <class Count>
    DEDLOC_HOST_DEVICE Loaded load(std::size_t i, Count count) const {
        return {read_pack<kVector>(p + i, count), read_pack<kVector>(gradient + i, count)};
    }

    template <class Count>
    DEDLOC_HOST_DEVICE std::uint32_t apply(std::size_t, Count, const Loaded& loaded,
                                           double (&squares)[2][kPackElements]) const {
        for (unsigned j = 0; j < kPackElements; ++j) {
            squares[0][j] = add_square(squares[0][j], loaded.p.v[j]);
            squares[1][j] = add_square(squares[1][j], clip_factor * loaded.gradient.v[j]);
        }
        return 0;
    }
};

/// The result of LARC for a tensor.
struct LarcFactors {
    float rate;          ///< multiplies the direction
    float weight_decay;  ///< 0 if a norm is 0
};

struct LarcRate {
    double trust;
    double epsilon;
    float weight_decay;
    float* rate;           ///< output; null: not wanted
    LarcFactors* factors;  ///< output

    DEDLOC_HOST_DEVICE void operator()(const double (&squares)[2]) const {
        LarcFactors result{1, weight_decay};
        if (trust > 0) {
            if (squares[0] == 0 || squares[1] == 0) {
                result.weight_decay = 0;
            } else {
                const double p_norm = std::sqrt(squares[0]);
                const double divisor =
                    std::sqrt(squares[1]) + static_cast<double>(weight_decay) * p_norm + epsilon;
                result.rate = static_cast<float>(trust * p_norm / divisor);
            }
        }
        if (rate != nullptr) *rate = result.rate;
        *factors = result;
    }
};

/// b ← μ b + d;   p ← p − learning rate × b
template <bool kIsAligned>
struct MomentumRow {
    static constexpr bool kVector = kIsAligned;
    static constexpr unsigned kAhead = 2;
    static constexpr bool kFlags = false;
    static constexpr bool kBackwards = true;
    struct Loaded {
        Pack<float> p, b, gradient;
    };

    float* p;
    float* b;
    const float* gradient;
    SgdElementScalars scalars;
    const float* clip_factor;  ///< null: the one in `scalars` is used
    const LarcFactors* factors;
    float rate = 1;

    DEDLOC_HOST_DEVICE void prepare() {
        if (clip_factor != nullptr) scalars.clip_factor = *clip_factor;
        scalars.weight_decay = factors->weight_decay;
        rate = factors->rate;
    }

    template <class Count>
    DEDLOC_HOST_DEVICE Loaded load(std::size_t i, Count count) const {
        return {read_pack<kVector>(p + i, count), read_pack<kVector>(b + i, count),
                read_pack<kVector>(gradient + i, count)};
    }

    template <class Count>
    DEDLOC_HOST_DEVICE std::uint32_t apply(std::size_t i, Count count, const Loaded& loaded,
                                           Nothing&) const {
        Pack<float> next_b;
        Pack<float> next_p;
        for (unsigned j = 0; j < kPackElements; ++j) {
            const float d = sgd_direction(loaded.p.v[j], loaded.gradient.v[j], rate, scalars);
            next_b.v[j] = sgd_momentum(loaded.b.v[j], d, scalars);
            next_p.v[j] = loaded.p.v[j] - scalars.learning_rate * next_b.v[j];
        }
        write_pack<kVector>(b + i, next_b, count);
        write_pack<kVector>(p + i, next_p, count);
        return 0;
    }
};

}  // namespace dedloc::kernels::cuda
