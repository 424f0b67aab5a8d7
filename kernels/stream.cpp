#include "kernels/stream.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dedloc::kernels {

#if defined(__x86_64__)

void stream_floats(float* to, const float* from, std::size_t count) {
    constexpr std::size_t kLine = 64;
    constexpr std::size_t kLineFloats = kLine / sizeof(float);
    const std::size_t past = reinterpret_cast<std::uintptr_t>(to) % kLine;
    const std::size_t head = std::min(count, past == 0 ? 0 : (kLine - past) / sizeof(float));
    std::memcpy(to, from, head * sizeof(float));
    std::size_t i = head;
    for (; i + kLineFloats <= count; i += kLineFloats) {
        const __m128 a = _mm_loadu_ps(from + i);
        const __m128 b = _mm_loadu_ps(from + i + 4);
        const __m128 c = _mm_loadu_ps(from + i + 8);
        const __m128 d = _mm_loadu_ps(from + i + 12);
        _mm_stream_ps(to + i, a);
        _mm_stream_ps(to + i + 4, b);
        _mm_stream_ps(to + i + 8, c);
        _mm_stream_ps(to + i + 12, d);
    }
    std::memcpy(to + i, from + i, (count - i) * sizeof(float));
}

void stream_fence() {
    _mm_sfence();
}

#else

void stream_floats(float* to, const float* from, std::size_t count) {
    std::memcpy(to, from, count * sizeof(float));
}

void stream_fence() {}

#endif

}  // namespace dedloc::kernels
