// Short values of a model's matrices, eight at a time: bf16 or fp16, rounded as libtorch rounds.
#pragma once

#include "kernels/cuda/body.hpp"

namespace dedloc::training {

using kernels::Bfloat16;
using kernels::Half;

/// Rounds to nearest-even.
template <class T>
DEDLOC_HOST_DEVICE inline T rounded(float x);

template <>
DEDLOC_HOST_DEVICE inline Bfloat16 rounded<Bfloat16>(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    Bfloat16 y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
#else
    return kernels::to_bfloat16(x);
#endif
}

/// Values beyond the range become infinite, by which the loss scale finds out that it is too large.
template <>
DEDLOC_HOST_DEVICE inline Half rounded<Half>(float x) {
#if defined(__CUDA_ARCH__)
    Half y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
#else
    constexpr float kBeyond = 65'520.0F;
    if (x >= kBeyond) return Half{0x7c00};
    if (x <= -kBeyond) return Half{0xfc00};
    return kernels::to_half(x);
#endif
}

/// As kernels::to_float, by the device's instruction.
DEDLOC_HOST_DEVICE inline float widened(Bfloat16 x) {
    return kernels::to_float(x);
}
DEDLOC_HOST_DEVICE inline float widened(Half x) {
#if defined(__CUDA_ARCH__)
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
#else
    return kernels::to_float(x);
#endif
}

/// Eight neighbouring short values, which one load of 16 bytes reads.
template <class T>
struct alignas(16) Eight {
    T v[8];
};
inline constexpr std::size_t kEight = 8;  ///< values of an Eight

/// Reads eight values with one load. `from` is aligned to 16 bytes.
template <class T>
DEDLOC_HOST_DEVICE inline Eight<T> read_eight(const T* from) {
    Eight<T> values;
#if defined(__CUDA_ARCH__)
    values = std::bit_cast<Eight<T>>(*reinterpret_cast<const uint4*>(from));
#else
    std::memcpy(static_cast<void*>(&values), from, sizeof(values));
#endif
    return values;
}

/// Writes eight values with one store. `to` is aligned to 16 bytes.
template <class T>
DEDLOC_HOST_DEVICE inline void write_eight(T* to, const Eight<T>& values) {
#if defined(__CUDA_ARCH__)
    *reinterpret_cast<uint4*>(to) = std::bit_cast<uint4>(values);
#else
    std::memcpy(static_cast<void*>(to), &values, sizeof(values));
#endif
}

}  // namespace dedloc::training
