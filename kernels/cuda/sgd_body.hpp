// The work of one thread in the kernels of sgd.cu.
#pragma once

#include <cmath>

#include "kernels/cuda/table_sums.hpp"

namespace dedloc::kernels::cuda {

/// Adds up the squares of parameters and of clipped gradients.
struct LarcRow {
    static constexpr unsigned kSums = 2;   ///< see TableSums
    static constexpr unsigned kAhead = 4;  ///< see walk
    /// See walk.
    struct Loaded {
        Pack<float> p, gradient;  ///< as in the row
    };

    // Parameters, gradient and the factor of the gradient.
    const float* p;
    const float* gradient;
    float clip_factor;

    /// See AlignedRow.
    DEDLOC_HOST_DEVICE void enter(std::size_t, const TensorSegments&) {}

    template <bool kVector, class Count>
    DEDLOC_HOST_DEVICE Loaded load(std::size_t i, Count count) const {
        return {read_pack<kVector>(p + i, count), read_pack<kVector>(gradient + i, count)};
    }

    template <bool kVector, class Count>
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

/// Computes rate and decay of a tensor from the sums of squares of its parameters and gradient.
struct LarcRate {
    double trust;          ///< 0: no LARC
    double epsilon;        ///< as in SgdScalars
    float weight_decay;    ///< the decay of tensors that decay
    float* rates;          ///< output, one for each tensor; null: not wanted
    LarcFactors* factors;  ///< output, one for each tensor

    DEDLOC_HOST_DEVICE void operator()(std::size_t index, const TensorSegments& tensor,
                                       const double (&squares)[2]) const {
        const float decay = tensor.decays ? weight_decay : 0.0f;
        LarcFactors result{1, decay};
        if (trust > 0 && tensor.adapts) {
            if (squares[0] == 0 || squares[1] == 0) {
                result.weight_decay = 0;
            } else {
                const double p_norm = std::sqrt(squares[0]);
                const double divisor =
                    std::sqrt(squares[1]) + static_cast<double>(decay) * p_norm + epsilon;
                result.rate = static_cast<float>(trust * p_norm / divisor);
            }
        }
        if (rates != nullptr) rates[index] = result.rate;
        factors[index] = result;
    }
};

/// b ← μ b + d;   p ← p − learning rate × b
struct MomentumRow {
    static constexpr unsigned kAhead = 2;
    struct Loaded {
        Pack<float> p, b, gradient;
    };

    float* p;
    float* b;
    const float* gradient;
    SgdElementScalars scalars;
    const LarcFactors* factors;
    float rate = 1;

    DEDLOC_HOST_DEVICE void enter(std::size_t index, const TensorSegments&) {
        scalars.weight_decay = factors[index].weight_decay;
        rate = factors[index].rate;
    }

    template <bool kVector, class Count>
    DEDLOC_HOST_DEVICE Loaded load(std::size_t i, Count count) const {
        return {read_pack<kVector>(p + i, count), read_pack<kVector>(b + i, count),
                read_pack<kVector>(gradient + i, count)};
    }

    template <bool kVector, class Count>
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
