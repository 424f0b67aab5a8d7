// The arithmetic of one element between the matrix products of a layer, shared by the kernels of
// GPUs (boinc_app/cuda) and of processors (host_layers.hpp). Neither needs exact bits: a gradient's
// rounding is its trainer's own. The host's forms have no branches and no calls, so that loops over
// them vectorise.
#pragma once

#include "kernels/arithmetic.hpp"

namespace dedloc::training {

/// eˣ, within two units of the last place on the host; at least 1e-38 and at most 2e38.
DEDLOC_HOST_DEVICE inline float exponential(float x) {
#if defined(__CUDA_ARCH__)
    return __expf(x);
#else
    constexpr float kLowest = -87.0F, kHighest = 88.0F;
    constexpr float kLog2E = 1.44269504F;                                // 1 ÷ ln 2
    constexpr float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;  // ln 2, in two parts
    constexpr float kToInteger = 0x1.8p23F;         // a float of this size has a last place of 1
    const float above = x < kLowest ? kLowest : x;  // keeps NaN
    const float inside = above > kHighest ? kHighest : above;
    const float shifted = inside * kLog2E + kToInteger;
    const float whole = shifted - kToInteger;
    const float rest = (inside - whole * kLn2High) - whole * kLn2Low;  // at most ½ ln 2
    // The series of eˣ, to the sixth power.
    float sum = 1.0F / 720;
    sum = sum * rest + 1.0F / 120;
    sum = sum * rest + 1.0F / 24;
    sum = sum * rest + 1.0F / 6;
    sum = sum * rest + 0.5F;
    sum = sum * rest + 1.0F;
    sum = sum * rest + 1.0F;
    const std::uint32_t power = (std::bit_cast<std::uint32_t>(shifted) << 23) + (127U << 23);
    return sum * std::bit_cast<float>(power);
#endif
}

/// tanh x, within a few units of 1e-7.
DEDLOC_HOST_DEVICE inline float tangent(float x) {
#if defined(__CUDA_ARCH__)
    return 1 - __fdividef(2, 1 + exponential(2 * x));
#else
    return 1 - 2 / (1 + exponential(2 * x));
#endif
}

inline constexpr float kGeluScale = 0.79788456080286536F;  ///< √(2 ÷ π)
inline constexpr float kGeluCube = 0.044715F;  ///< factor of x³ in the tanh form of GELU

/// GELU by its approximation with tanh.
DEDLOC_HOST_DEVICE inline float gelu(float x) {
    return 0.5F * x * (1 + tangent(kGeluScale * (x + kGeluCube * x * x * x)));
}

/// The derivative of gelu().
DEDLOC_HOST_DEVICE inline float gelu_slope(float x) {
    const float t = tangent(kGeluScale * (x + kGeluCube * x * x * x));
    return 0.5F * (1 + t) + 0.5F * x * (1 - t * t) * kGeluScale * (1 + 3 * kGeluCube * x * x);
}

/// 1 ÷ √x, within two units of the last place.
DEDLOC_HOST_DEVICE inline float inverse_root(float x) {
#if defined(__CUDA_ARCH__)
    return rsqrtf(x);
#else
    return 1 / std::sqrt(x);
#endif
}

/// An element of a layer norm: z less its row's mean, over the standard deviation.
DEDLOC_HOST_DEVICE inline float normalised(float z, float mean, float inverse) {
    return (z - mean) * inverse;
}

/// The gradient of a layer norm by its input z, from that by its output. `sum` and `along` are the
/// means over the row of by_out × gain, and of that × normal.
DEDLOC_HOST_DEVICE inline float norm_slope(float by_out, float gain, float normal, float inverse,
                                           float sum, float along) {
    return inverse * (by_out * gain - sum - normal * along);
}

}  // namespace dedloc::training
