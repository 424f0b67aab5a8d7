// The scalar structs Widen and Shorten define the results, and compilers vectorise them for sets
// without a conversion. The functions for AVX2 and AVX-512 handle 8 or 16 elements at a time with
// the processor's conversion and leave the last few elements to the scalar structs. When a vector
// to be shortened has a value beyond the largest half, or a NaN, the whole vector goes to Shorten,
// which alone counts values that are not finite.
#include "kernels/half_lanes.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dedloc::kernels {
namespace {

// --- halves to floats --------------------------------------------------------

/// kAdds: adds to `out`.
template <bool kAdds>
struct Widen {
    DEDLOC_LOOP void run(const Half* values, float scale, float* out, std::size_t count) {
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) {
            const float value = scale * to_float(values[i]);
            out[i] = kAdds ? out[i] + value : value;
        }
    }
};

// --- floats to halves --------------------------------------------------------

/// Arguments of the rounding of one vector; the names are those of Unrounded. A null pointer is
/// neither read nor written. `owed` and `error` may be the same array.
struct Rounding {
    const float* values;
    float scale;
    const float* owed;
    float addend;
    float* error;
    float inverse_scale;
    Half* out;

    /// The same for the elements from i on.
    DEDLOC_LOOP Rounding from(const Rounding& all, std::size_t i) {
        Rounding rest = all;
        rest.values += i;
        if (rest.owed != nullptr) rest.owed += i;
        if (rest.error != nullptr) rest.error += i;
        if (rest.out != nullptr) rest.out += i;
        return rest;
    }
};

/// kAdds: adds `owed` and not `addend`. kKeeps: writes the rounding errors instead of the halves.
/// Returns how many x are not finite.
template <bool kAdds, bool kKeeps>
struct Shorten {
    DEDLOC_LOOP std::uint32_t run(Rounding r, std::size_t count) {
        std::uint32_t bad = 0;
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) {
            const float scaled = r.scale * r.values[i];
            const float x = scaled + (kAdds ? r.scale * r.owed[i] : r.addend);
            const Half rounded = to_half(x);
            if constexpr (kKeeps) {
                r.error[i] = r.inverse_scale * (x - to_float(rounded));
            } else {
                r.out[i].bits = rounded.bits;
            }
            bad += is_finite(x) ? 0u : 1u;
        }
        return bad;
    }
};

// --- with the processor's conversions ----------------------------------------

#if defined(__x86_64__)

constexpr int kToEven = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

// Lanes: 8 with AVX2 and F16C.

/// The conversion turns a signalling NaN into a quiet one, but so does the multiplication by the
/// scale.
template <bool kAdds>
DEDLOC_AVX2 void widen_avx2(const Half* values, float scale, float* out, std::size_t count) {
    const __m256 scales = _mm256_set1_ps(scale);
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values + i));
        __m256 value = _mm256_mul_ps(scales, _mm256_cvtph_ps(bits));
        if constexpr (kAdds) value = _mm256_add_ps(_mm256_loadu_ps(out + i), value);
        _mm256_storeu_ps(out + i, value);
    }
    Widen<kAdds>::run(values + i, scale, out + i, count - i);
}

template <bool kAdds, bool kKeeps>
DEDLOC_AVX2 std::uint32_t shorten_avx2(Rounding r, std::size_t count) {
    using Scalar = Shorten<kAdds, kKeeps>;
    const __m256 all_but_sign = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    const __m256 largest = _mm256_set1_ps(65'504.0F);
    const __m256 scales = _mm256_set1_ps(r.scale);
    const __m256 inverses = _mm256_set1_ps(r.inverse_scale);
    std::uint32_t bad = 0;
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        __m256 addend = _mm256_set1_ps(r.addend);
        if constexpr (kAdds) addend = _mm256_mul_ps(scales, _mm256_loadu_ps(r.owed + i));
        const __m256 x =
            _mm256_add_ps(_mm256_mul_ps(scales, _mm256_loadu_ps(r.values + i)), addend);
        const __m256 magnitude = _mm256_and_ps(x, all_but_sign);
        if (_mm256_movemask_ps(_mm256_cmp_ps(magnitude, largest, _CMP_NLE_UQ)) != 0) {
            bad += Scalar::run(Rounding::from(r, i), 8);
            continue;
        }
        const __m128i halves = _mm256_cvtps_ph(x, kToEven);
        if constexpr (kKeeps) {
            const __m256 taken = _mm256_sub_ps(x, _mm256_cvtph_ps(halves));
            _mm256_storeu_ps(r.error + i, _mm256_mul_ps(inverses, taken));
        } else {
            _mm_storeu_si128(reinterpret_cast<__m128i*>(r.out + i), halves);
        }
    }
    return bad + Scalar::run(Rounding::from(r, i), count - i);
}

// Lanes: 16 with AVX-512.

template <bool kAdds>
DEDLOC_AVX512 void widen_avx512(const Half* values, float scale, float* out, std::size_t count) {
    const __m512 scales = _mm512_set1_ps(scale);
    std::size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + i));
        __m512 value = _mm512_mul_ps(scales, _mm512_cvtph_ps(bits));
        if constexpr (kAdds) value = _mm512_add_ps(_mm512_loadu_ps(out + i), value);
        _mm512_storeu_ps(out + i, value);
    }
    Widen<kAdds>::run(values + i, scale, out + i, count - i);
}

template <bool kAdds, bool kKeeps>
DEDLOC_AVX512 std::uint32_t shorten_avx512(Rounding r, std::size_t count) {
    using Scalar = Shorten<kAdds, kKeeps>;
    const __m512 largest = _mm512_set1_ps(65'504.0F);
    const __m512 scales = _mm512_set1_ps(r.scale);
    const __m512 inverses = _mm512_set1_ps(r.inverse_scale);
    std::uint32_t bad = 0;
    std::size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        __m512 addend = _mm512_set1_ps(r.addend);
        if constexpr (kAdds) addend = _mm512_mul_ps(scales, _mm512_loadu_ps(r.owed + i));
        const __m512 x =
            _mm512_add_ps(_mm512_mul_ps(scales, _mm512_loadu_ps(r.values + i)), addend);
        if (_mm512_cmp_ps_mask(_mm512_abs_ps(x), largest, _CMP_NLE_UQ) != 0) {
            bad += Scalar::run(Rounding::from(r, i), 16);
            continue;
        }
        const __m256i halves = _mm512_cvtps_ph(x, kToEven);
        if constexpr (kKeeps) {
            const __m512 taken = _mm512_sub_ps(x, _mm512_cvtph_ps(halves));
            _mm512_storeu_ps(r.error + i, _mm512_mul_ps(inverses, taken));
        } else {
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(r.out + i), halves);
        }
    }
    return bad + Scalar::run(Rounding::from(r, i), count - i);
}

#endif

template <bool kAdds>
void widen(InstructionSet set, const Half* values, float scale, float* out, std::size_t count) {
#if defined(__x86_64__)
    if (set == InstructionSet::kAvx512) return widen_avx512<kAdds>(values, scale, out, count);
    if (set == InstructionSet::kAvx2) return widen_avx2<kAdds>(values, scale, out, count);
#endif
    run_for<Widen<kAdds>>(set, values, scale, out, count);
}

template <bool kAdds, bool kKeeps>
std::uint32_t shorten(InstructionSet set, const Rounding& r, std::size_t count) {
#if defined(__x86_64__)
    if (set == InstructionSet::kAvx512) return shorten_avx512<kAdds, kKeeps>(r, count);
    if (set == InstructionSet::kAvx2) return shorten_avx2<kAdds, kKeeps>(r, count);
#endif
    return run_for<Shorten<kAdds, kKeeps>>(set, r, count);
}

}  // namespace

void widen_halves(InstructionSet set, const Half* values, float scale, float* out,
                  std::size_t count) {
    widen<false>(set, values, scale, out, count);
}

void add_halves(InstructionSet set, const Half* values, float scale, float* sum,
                std::size_t count) {
    widen<true>(set, values, scale, sum, count);
}

std::uint32_t shorten_to_halves(InstructionSet set, const Unrounded& x, Half* out,
                                std::size_t count) {
    const Rounding r{.values = x.values,
                     .scale = x.scale,
                     .owed = x.owed,
                     .addend = x.addend,
                     .error = nullptr,
                     .inverse_scale = 1,
                     .out = out};
    return x.owed == nullptr ? shorten<false, false>(set, r, count)
                             : shorten<true, false>(set, r, count);
}

std::uint32_t keep_half_errors(InstructionSet set, const float* values, float scale, float* error,
                               std::size_t count) {
    const Rounding r{.values = values,
                     .scale = scale,
                     .owed = error,
                     .addend = 0,
                     .error = error,
                     .inverse_scale = 1 / scale,
                     .out = nullptr};
    return shorten<true, true>(set, r, count);
}

}  // namespace dedloc::kernels
