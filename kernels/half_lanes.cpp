#include "kernels/half_lanes.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dedloc::kernels {
namespace {

struct Widen {
    DEDLOC_LOOP std::uint32_t run(const Half* values, float* out, std::size_t count) {
        std::uint32_t bad = 0;
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) {
            const float value = to_float(values[i]);
            out[i] = value;
            bad += is_finite(value) ? 0u : 1u;
        }
        return bad;
    }
};

/// Without kFeedback `error` is null.
template <bool kFeedback>
struct Shorten {
    DEDLOC_LOOP std::uint32_t run(const float* values, float* error, Half* out, std::size_t count) {
        std::uint32_t bad = 0;
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) {
            const float x = kFeedback ? values[i] + error[i] : values[i];
            const Half rounded = to_half(x);
            out[i].bits = rounded.bits;
            if constexpr (kFeedback) error[i] = x - to_float(rounded);
            bad += is_finite(x) ? 0u : 1u;
        }
        return bad;
    }
};

#if defined(__x86_64__)

constexpr int kToEven = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

// Lanes: 8 with AVX2 and F16C.

DEDLOC_AVX2 std::uint32_t widen_avx2(const Half* values, float* out, std::size_t count) {
    const __m128i all_but_sign = _mm_set1_epi16(0x7fff);
    const __m128i largest = _mm_set1_epi16(0x7bff);
    std::uint32_t bad = 0;
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values + i));
        const __m128i is_bad = _mm_cmpgt_epi16(_mm_and_si128(bits, all_but_sign), largest);
        if (_mm_movemask_epi8(is_bad) == 0) {
            _mm256_storeu_ps(out + i, _mm256_cvtph_ps(bits));
        } else {
            bad += Widen::run(values + i, out + i, 8);
        }
    }
    return bad + Widen::run(values + i, out + i, count - i);
}

template <bool kFeedback>
DEDLOC_AVX2 std::uint32_t shorten_avx2(const float* values, float* error, Half* out,
                                       std::size_t count) {
    const __m256 all_but_sign = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    const __m256 largest = _mm256_set1_ps(65'504.0F);
    std::uint32_t bad = 0;
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        __m256 x = _mm256_loadu_ps(values + i);
        if constexpr (kFeedback) x = _mm256_add_ps(x, _mm256_loadu_ps(error + i));
        const __m256 magnitude = _mm256_and_ps(x, all_but_sign);
        if (_mm256_movemask_ps(_mm256_cmp_ps(magnitude, largest, _CMP_NLE_UQ)) == 0) {
            const __m128i halves = _mm256_cvtps_ph(x, kToEven);
            _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), halves);
            if constexpr (kFeedback) {
                _mm256_storeu_ps(error + i, _mm256_sub_ps(x, _mm256_cvtph_ps(halves)));
            }
        } else {
            bad += Shorten<kFeedback>::run(values + i, kFeedback ? error + i : nullptr, out + i, 8);
        }
    }
    return bad +
           Shorten<kFeedback>::run(values + i, kFeedback ? error + i : nullptr, out + i, count - i);
}

// Lanes: 16 with AVX-512.

DEDLOC_AVX512 std::uint32_t widen_avx512(const Half* values, float* out, std::size_t count) {
    const __m256i all_but_sign = _mm256_set1_epi16(0x7fff);
    const __m256i largest = _mm256_set1_epi16(0x7bff);
    std::uint32_t bad = 0;
    std::size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + i));
        if (_mm256_cmpgt_epi16_mask(_mm256_and_si256(bits, all_but_sign), largest) == 0) {
            _mm512_storeu_ps(out + i, _mm512_cvtph_ps(bits));
        } else {
            bad += Widen::run(values + i, out + i, 16);
        }
    }
    return bad + Widen::run(values + i, out + i, count - i);
}

template <bool kFeedback>
DEDLOC_AVX512 std::uint32_t shorten_avx512(const float* values, float* error, Half* out,
                                           std::size_t count) {
    const __m512 largest = _mm512_set1_ps(65'504.0F);
    std::uint32_t bad = 0;
    std::size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        __m512 x = _mm512_loadu_ps(values + i);
        if constexpr (kFeedback) x = _mm512_add_ps(x, _mm512_loadu_ps(error + i));
        if (_mm512_cmp_ps_mask(_mm512_abs_ps(x), largest, _CMP_NLE_UQ) == 0) {
            const __m256i halves = _mm512_cvtps_ph(x, kToEven);
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), halves);
            if constexpr (kFeedback) {
                _mm512_storeu_ps(error + i, _mm512_sub_ps(x, _mm512_cvtph_ps(halves)));
            }
        } else {
            bad +=
                Shorten<kFeedback>::run(values + i, kFeedback ? error + i : nullptr, out + i, 16);
        }
    }
    return bad +
           Shorten<kFeedback>::run(values + i, kFeedback ? error + i : nullptr, out + i, count - i);
}

#endif

template <bool kFeedback>
std::uint32_t shorten(InstructionSet set, const float* values, float* error, Half* out,
                      std::size_t count) {
#if defined(__x86_64__)
    if (set == InstructionSet::kAvx512) {
        return shorten_avx512<kFeedback>(values, error, out, count);
    }
    if (set == InstructionSet::kAvx2) return shorten_avx2<kFeedback>(values, error, out, count);
#endif
    return run_for<Shorten<kFeedback>>(set, values, error, out, count);
}

}  // namespace

std::uint32_t widen_halves(InstructionSet set, const Half* values, float* out, std::size_t count) {
#if defined(__x86_64__)
    if (set == InstructionSet::kAvx512) return widen_avx512(values, out, count);
    if (set == InstructionSet::kAvx2) return widen_avx2(values, out, count);
#endif
    return run_for<Widen>(set, values, out, count);
}

std::uint32_t shorten_to_halves(InstructionSet set, const float* values, Half* out,
                                std::size_t count) {
    return shorten<false>(set, values, nullptr, out, count);
}

std::uint32_t shorten_to_halves(InstructionSet set, const float* values, float* error, Half* out,
                                std::size_t count) {
    return shorten<true>(set, values, error, out, count);
}

}  // namespace dedloc::kernels
