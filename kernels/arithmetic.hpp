// The arithmetic of one element, shared by the host reference and the device twin, so that what the
// host tests prove holds for both. Only + − × ÷ √, each rounded separately to nearest-even: no
// fused multiply-add, no libm, no fast-math. Host: -ffp-contract=off. Device: -fmad=false
// -prec-div=true -prec-sqrt=true -ftz=false.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#if defined(__CUDACC__)
#define DEDLOC_HOST_DEVICE __host__ __device__
#else
#define DEDLOC_HOST_DEVICE
#endif

namespace dedloc::kernels {

/// Neither infinite nor NaN; by bits, so that no compiler flag can optimise it away.
DEDLOC_HOST_DEVICE inline bool is_finite(float x) {
    return (std::bit_cast<std::uint32_t>(x) & 0x7f800000u) != 0x7f800000u;
}

/// x² as a double: exact, since 24 + 24 bits fit into 53.
DEDLOC_HOST_DEVICE inline double exact_square(float x) {
    return static_cast<double>(x) * static_cast<double>(x);
}

/// What every element of one LAMB update has in common.
struct LambElementScalars {
    float beta1 = 0;
    float one_minus_beta1 = 0;
    float beta2 = 0;
    float one_minus_beta2 = 0;
    float epsilon = 0;       ///< added outside the root
    float weight_decay = 0;  ///< 0 for a tensor that does not decay
    float clip_factor = 1;   ///< multiplies the gradient first
};

/// m ← β₁ m + (1 − β₁) g
DEDLOC_HOST_DEVICE inline float lamb_first_moment(float m, float g, const LambElementScalars& s) {
    return s.beta1 * m + s.one_minus_beta1 * g;
}

/// v ← β₂ v + (1 − β₂) (g g)
DEDLOC_HOST_DEVICE inline float lamb_second_moment(float v, float g, const LambElementScalars& s) {
    return s.beta2 * v + s.one_minus_beta2 * (g * g);
}

/// u = m ÷ (√v + ε) + decay p, of the new m and v. With decay 0 the sum can only change a zero's
/// sign.
DEDLOC_HOST_DEVICE inline float lamb_direction(float p, float m, float v,
                                               const LambElementScalars& s) {
    return m / (std::sqrt(v) + s.epsilon) + s.weight_decay * p;
}

}  // namespace dedloc::kernels
