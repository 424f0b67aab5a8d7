// The arithmetic of one element, shared by host and device, so that the host tests hold for both.
// Only + − × ÷ √, each rounded separately to nearest-even: no fused multiply-add, no libm, no
// fast-math. Host: -ffp-contract=off. Device: -fmad=false -prec-div=true -prec-sqrt=true
// -ftz=false.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#if defined(__CUDACC__)
#define DEDLOC_HOST_DEVICE __host__ __device__
#else
#define DEDLOC_HOST_DEVICE [[gnu::always_inline]]
#endif

namespace dedloc::kernels {

/// Neither infinite nor NaN; tested by bits, so that no compiler flag can optimise it away.
DEDLOC_HOST_DEVICE inline bool is_finite(float x) {
    return (std::bit_cast<std::uint32_t>(x) & 0x7f800000u) != 0x7f800000u;
}

/// The bits of |x|: as integers they have the order of the values, with NaN above infinity.
DEDLOC_HOST_DEVICE inline std::uint32_t magnitude_bits(float x) {
    return std::bit_cast<std::uint32_t>(x) & 0x7fffffffu;
}

/// `yes` or `no`. Computes both, because a loop with branches would not vectorise.
DEDLOC_HOST_DEVICE inline std::uint32_t choose(bool condition, std::uint32_t yes,
                                               std::uint32_t no) {
    const std::uint32_t mask = 0u - std::uint32_t{condition};
    return (yes & mask) | (no & ~mask);
}

/// x² as a double: exact, since 24 + 24 bits fit into 53.
DEDLOC_HOST_DEVICE inline double exact_square(float x) {
    return static_cast<double>(x) * static_cast<double>(x);
}

/// |x| as a double. If x is normal or 0, this only moves bits and needs no double arithmetic, which
/// is slow on many devices.
DEDLOC_HOST_DEVICE inline double widened_magnitude(float x) {
    const std::uint32_t bits = magnitude_bits(x);
    if (bits - 0x00800000u < 0x7f000000u) {
        return std::bit_cast<double>((std::uint64_t{bits} << 29) + (std::uint64_t{896} << 52));
    }
    if (bits == 0) return 0;
    return static_cast<double>(std::bit_cast<float>(bits));
}

// --- shorter floats ----------------------------------------------------------

/// IEEE binary16.
struct Half {
    std::uint16_t bits = 0;
    bool operator==(const Half&) const = default;
};

/// The upper half of a binary32.
struct Bfloat16 {
    std::uint16_t bits = 0;
    bool operator==(const Bfloat16&) const = default;
};

/// Converts an element of any width to fp32, exactly.
DEDLOC_HOST_DEVICE inline float to_float(float x) {
    return x;
}

/// The same number; exact.
DEDLOC_HOST_DEVICE inline float to_float(Bfloat16 x) {
    return std::bit_cast<float>(std::uint32_t{x.bits} << 16);
}

/// Exact. A subnormal half is its mantissa times 2⁻²⁴, so no operand is denormal in binary32.
DEDLOC_HOST_DEVICE inline float to_float(Half x) {
    const std::uint32_t magnitude = x.bits & 0x7fffu;
    const std::uint32_t sign = std::uint32_t{x.bits & 0x8000u} << 16;
    const float tiny = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f;
    const std::uint32_t normal = (magnitude << 13) + (112u << 23);
    const std::uint32_t infinite = (magnitude << 13) | 0x7f800000u;
    std::uint32_t bits = choose(magnitude < 0x0400u, std::bit_cast<std::uint32_t>(tiny), normal);
    bits = choose(magnitude >= 0x7c00u, infinite, bits);
    return std::bit_cast<float>(bits | sign);
}

/// Rounds to nearest-even. Finite values stay finite (at most ±65,504); infinity and NaN are kept.
DEDLOC_HOST_DEVICE inline Half to_half(float x) {
    const std::uint32_t magnitude = magnitude_bits(x);
    const std::uint32_t sign = (std::bit_cast<std::uint32_t>(x) >> 16) & 0x8000u;
    // In [½, 1) a float's last place is 2⁻²⁴, like that of a subnormal half.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    const std::uint32_t tiny = std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u;
    const std::uint32_t even = magnitude - (112u << 23) + 0x0fffu + ((magnitude >> 13) & 1u);
    std::uint32_t bits = choose(magnitude < 0x38800000u, tiny, even >> 13);
    bits = choose(magnitude >= 0x477fe000u, 0x7bffu, bits);  // 65,504 and up
    bits = choose(magnitude >= 0x7f800000u, 0x7c00u, bits);
    bits = choose(magnitude > 0x7f800000u, 0x7e00u, bits);
    return {static_cast<std::uint16_t>(bits | sign)};
}

/// Rounds to nearest-even. Finite values stay finite; infinity and NaN are kept.
DEDLOC_HOST_DEVICE inline Bfloat16 to_bfloat16(float x) {
    const std::uint32_t magnitude = magnitude_bits(x);
    const std::uint32_t sign = (std::bit_cast<std::uint32_t>(x) >> 16) & 0x8000u;
    std::uint32_t bits = (magnitude + 0x7fffu + ((magnitude >> 16) & 1u)) >> 16;
    bits = choose(magnitude >= 0x7f7f0000u, 0x7f7fu, bits);
    bits = choose(magnitude >= 0x7f800000u, 0x7f80u, bits);
    bits = choose(magnitude > 0x7f800000u, 0x7fc0u, bits);
    return {static_cast<std::uint16_t>(bits | sign)};
}

// --- int8 with a power-of-two scale ------------------------------------------

/// 2^(exponent − 127). Requires an exponent of a normal float, 1 to 254.
DEDLOC_HOST_DEVICE inline float power_of_two(std::uint32_t exponent) {
    return std::bit_cast<float>(exponent << 23);
}

/// The exponent of the smallest scale 2^(exponent − 127) with which the largest magnitude of a
/// block is at most 127 scales. From 1 to 248: 127 times a larger scale is beyond fp32. Adding
/// 0x1ffff carries into the exponent exactly if the mantissa is above 127/64.
DEDLOC_HOST_DEVICE inline std::uint32_t int8_exponent(std::uint32_t largest_magnitude) {
    const std::uint32_t exponent = (largest_magnitude + 0x1ffffu) >> 23;
    return exponent <= 7 ? 1 : exponent >= 254 ? 248 : exponent - 6;
}

/// x ÷ scale rounded to the nearest integer, ties to even, at most ±127: at 1.5 × 2²³ a float's
/// last place is 1. The product is exact unless it is denormal, and then the code is 0 anyway.
DEDLOC_HOST_DEVICE inline std::int8_t int8_code(float x, float inverse_scale) {
    const float shifted = x * inverse_scale + 0x1.8p23f;
    const auto code =
        static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(shifted) - 0x4b400000u);
    const std::int32_t above = code < -127 ? -127 : code;
    return static_cast<std::int8_t>(above > 127 ? 127 : above);
}

/// Exact: 8 bits times a power of two that is not denormal.
DEDLOC_HOST_DEVICE inline float int8_value(std::int8_t code, float scale) {
    return static_cast<float>(code) * scale;
}

// --- LAMB --------------------------------------------------------------------

/// Scalars of one LAMB update that all elements of a tensor share.
struct LambElementScalars {
    float beta1 = 0;              ///< β₁
    float one_minus_beta1 = 0;    ///< 1 − β₁, rounded by the caller
    float beta2 = 0;              ///< β₂
    float one_minus_beta2 = 0;    ///< 1 − β₂, rounded by the caller
    float epsilon = 0;            ///< added outside the root
    float weight_decay = 0;       ///< 0 for a tensor that does not decay
    float clip_factor = 1;        ///< multiplies the gradient first
    float first_correction = 1;   ///< 1 − β₁ᵗ; used if the moments are de-biased
    float second_correction = 1;  ///< 1 − β₂ᵗ; used if the moments are de-biased
};

/// m ← β₁ m + (1 − β₁) g
DEDLOC_HOST_DEVICE inline float lamb_first_moment(float m, float g, const LambElementScalars& s) {
    return s.beta1 * m + s.one_minus_beta1 * g;
}

/// v ← β₂ v + (1 − β₂) (g g)
DEDLOC_HOST_DEVICE inline float lamb_second_moment(float v, float g, const LambElementScalars& s) {
    return s.beta2 * v + s.one_minus_beta2 * (g * g);
}

/// u = m ÷ (√v + ε) + decay p, with the new m and v. With decay 0 the sum can only change the sign
/// of a zero.
DEDLOC_HOST_DEVICE inline float lamb_direction(float p, float m, float v,
                                               const LambElementScalars& s) {
    return m / (std::sqrt(v) + s.epsilon) + s.weight_decay * p;
}

/// The same with the de-biased moments m ÷ (1 − β₁ᵗ) and v ÷ (1 − β₂ᵗ).
DEDLOC_HOST_DEVICE inline float lamb_debiased_direction(float p, float m, float v,
                                                        const LambElementScalars& s) {
    return lamb_direction(p, m / s.first_correction, v / s.second_correction, s);
}

// --- SGD ---------------------------------------------------------------------

/// Scalars of one SGD update that all elements of a tensor share.
struct SgdElementScalars {
    float learning_rate = 0;  ///< multiplies the momentum when it is applied
    float momentum = 0;       ///< μ
    float weight_decay = 0;   ///< 0: none
    float clip_factor = 1;    ///< multiplies the gradient first
};

/// d = rate (clip g + decay p), the term added to the momentum. `rate` is LARC's factor.
DEDLOC_HOST_DEVICE inline float sgd_direction(float p, float g, float rate,
                                              const SgdElementScalars& s) {
    return rate * (s.clip_factor * g + s.weight_decay * p);
}

/// b ← μ b + d
DEDLOC_HOST_DEVICE inline float sgd_momentum(float b, float d, const SgdElementScalars& s) {
    return s.momentum * b + d;
}

// --- rows of unit length -----------------------------------------------------

/// The length of a row with this sum of squares, by which it is divided; 0 if the length is 0 or
/// not finite, and the row stays as it is.
DEDLOC_HOST_DEVICE inline double unit_divisor(double squares) {
    return squares > 0 && squares <= 0x1.fffffffffffffp1023 ? std::sqrt(squares) : 0.0;
}

/// x ÷ divisor, rounded to a double and then to a float.
DEDLOC_HOST_DEVICE inline float unit_element(float x, double divisor) {
    return static_cast<float>(static_cast<double>(x) / divisor);
}

}  // namespace dedloc::kernels
