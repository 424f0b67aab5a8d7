// The work of one thread in the kernels of lamb.cu.
#pragma once

#include <cmath>

#include "kernels/cuda/table_sums.hpp"

namespace dedloc::kernels::cuda {

/// The direction u of one element in variant A, or in variant B if kDebiasesMoments.
template <bool kDebiasesMoments>
DEDLOC_HOST_DEVICE inline float direction(float p, float m, float v, const LambElementScalars& s) {
    if constexpr (kDebiasesMoments) {
        return lamb_debiased_direction(p, m, v, s);
    } else {
        return lamb_direction(p, m, v, s);
    }
}

/// Computes the new moments, and adds up the squares of the parameters and of their directions.
template <bool kDebiasesMoments>
struct MomentsRow {
    static constexpr unsigned kSums = 2;
    static constexpr unsigned kAhead = 2;
    struct Loaded {
        Pack<float> p, m, v, gradient;  ///< as in the row
    };

    // Parameters, moments (updated), gradient and the scalars of the update.
    const float* p;
    float* m;
    float* v;
    const float* gradient;
    LambElementScalars scalars;

    /// See AlignedRow.
    DEDLOC_HOST_DEVICE void enter(std::size_t, const TensorSegments& tensor) {
        if (!tensor.decays) scalars.weight_decay = 0;
    }

    template <bool kVector, class Count>
    DEDLOC_HOST_DEVICE Loaded load(std::size_t i, Count count) const {
        return {read_pack<kVector>(p + i, count), read_pack<kVector>(m + i, count),
                read_pack<kVector>(v + i, count), read_pack<kVector>(gradient + i, count)};
    }

    template <bool kVector, class Count>
    DEDLOC_HOST_DEVICE std::uint32_t apply(std::size_t i, Count count, const Loaded& loaded,
                                           double (&squares)[2][kPackElements]) const {
        Pack<float> next_m;
        Pack<float> next_v;
        for (unsigned j = 0; j < kPackElements; ++j) {
            const float g = scalars.clip_factor * loaded.gradient.v[j];
            next_m.v[j] = lamb_first_moment(loaded.m.v[j], g, scalars);
            next_v.v[j] = lamb_second_moment(loaded.v.v[j], g, scalars);
            const float u =
                direction<kDebiasesMoments>(loaded.p.v[j], next_m.v[j], next_v.v[j], scalars);
            squares[0][j] = add_square(squares[0][j], loaded.p.v[j]);
            squares[1][j] = add_square(squares[1][j], u);
        }
        write_pack<kVector>(m + i, next_m, count);
        write_pack<kVector>(v + i, next_v, count);
        return 0;
    }
};

/// Computes the trust ratio and the step of a tensor from the sums of squares of its parameters and
/// directions.
struct LambRatio {
    double step;        ///< lamb_step
    double norm_limit;  ///< as in LambScalars
    double* ratios;     ///< output, one for each tensor; null: not wanted
    float* factors;     ///< output, one for each tensor: step × ratio

    DEDLOC_HOST_DEVICE void operator()(std::size_t index, const TensorSegments& tensor,
                                       const double (&squares)[2]) const {
        const double p_norm = std::sqrt(squares[0]);
        const double u_norm = std::sqrt(squares[1]);
        const double bounded = p_norm > norm_limit ? norm_limit : p_norm;
        const bool is_plain = !tensor.adapts || bounded == 0 || u_norm == 0;
        const double ratio = is_plain ? 1.0 : bounded / u_norm;
        if (ratios != nullptr) ratios[index] = ratio;
        factors[index] = static_cast<float>(step * ratio);
    }
};

/// p ← p − factor × u
template <bool kDebiasesMoments>
struct StepRow {
    static constexpr unsigned kAhead = 2;
    struct Loaded {
        Pack<float> p, m, v;
    };

    float* p;
    const float* m;
    const float* v;
    LambElementScalars scalars;
    const float* factors;
    float factor = 0;

    DEDLOC_HOST_DEVICE void enter(std::size_t index, const TensorSegments& tensor) {
        if (!tensor.decays) scalars.weight_decay = 0;
        factor = factors[index];
    }

    template <bool kVector, class Count>
    DEDLOC_HOST_DEVICE Loaded load(std::size_t i, Count count) const {
        return {read_pack<kVector>(p + i, count), read_pack<kVector>(m + i, count),
                read_pack<kVector>(v + i, count)};
    }

    template <bool kVector, class Count>
    DEDLOC_HOST_DEVICE std::uint32_t apply(std::size_t i, Count count, const Loaded& loaded,
                                           Nothing&) const {
        Pack<float> next;
        for (unsigned j = 0; j < kPackElements; ++j) {
            const float u =
                direction<kDebiasesMoments>(loaded.p.v[j], loaded.m.v[j], loaded.v.v[j], scalars);
            next.v[j] = loaded.p.v[j] - factor * u;
        }
        write_pack<kVector>(p + i, next, count);
        return 0;
    }
};

}  // namespace dedloc::kernels::cuda
