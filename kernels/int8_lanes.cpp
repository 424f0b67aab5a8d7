// Encoding takes a block of 64 elements twice: the first loop computes the values into a local
// array and finds the largest magnitude, from which the exponent follows; the second loop rounds to
// codes. All of it is plain loops that the compiler vectorises for each instruction set. Decoding
// checks for infinite values only in blocks whose exponent is high enough for one, and in a short
// last block, so the usual block costs no test.
#include "kernels/int8_lanes.hpp"

#include <array>

namespace dedloc::kernels {
namespace {

constexpr std::uint32_t kInfinity = 0x7f800000;
/// The lowest exponent with which a code's value may be infinite: −128 × 2^(248 − 127).
constexpr std::uint8_t kDoubtfulExponent = 248;

template <bool kAdds>
struct LargestMagnitude {
    DEDLOC_LOOP std::uint32_t run(const float* values, const float* owed, std::size_t count) {
        std::uint32_t largest = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const float x = kAdds ? values[i] + owed[i] : values[i];
            const std::uint32_t magnitude = magnitude_bits(x);
            largest = magnitude > largest ? magnitude : largest;
        }
        return largest;
    }
};

// --- floats to codes ---------------------------------------------------------

/// The arrays of one vector; the names are those of Unquantized. A null pointer is neither read nor
/// written. `owed` and `error` may be the same array.
struct Encoding {
    const float* values;
    const float* owed;
    std::uint32_t max_exponent;
    std::int8_t* codes;
    std::uint8_t* exponents;
    float* error;
};

/// kAdds: adds `owed`. kKeeps: writes the rounding errors instead of codes and exponents. Returns
/// the number of blocks in which an x is not finite.
template <bool kAdds, bool kKeeps>
struct Encode {
    DEDLOC_LOOP std::uint32_t run(Encoding e, std::size_t count) {
        std::uint32_t bad = 0;
        std::size_t i = 0;
        for (; i + kInt8BlockElements <= count; i += kInt8BlockElements) {
            bad += encode_block(e, i, kInt8BlockElements);
        }
        return i == count ? bad : bad + encode_block(e, i, count - i);
    }

    /// One block of up to 64 values, from `first` on.
    DEDLOC_LOOP std::uint32_t encode_block(const Encoding& e, std::size_t first,
                                           std::size_t count) {
        alignas(64) std::array<float, kInt8BlockElements> x;
        std::uint32_t largest = 0;
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) {
            x[i] = kAdds ? e.values[first + i] + e.owed[first + i] : e.values[first + i];
            const std::uint32_t magnitude = magnitude_bits(x[i]);
            largest = magnitude > largest ? magnitude : largest;
        }
        const std::uint32_t min = int8_exponent(largest);
        const std::uint32_t power = min > e.max_exponent ? e.max_exponent : min;
        if constexpr (!kKeeps) {
            e.exponents[first / kInt8BlockElements] = static_cast<std::uint8_t>(power);
        }
        const float scale = power_of_two(power);
        const float inverse = power_of_two(254 - power);
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) {
            const std::int8_t code = int8_code(x[i], inverse);
            if constexpr (kKeeps) {
                e.error[first + i] = x[i] - int8_value(code, scale);
            } else {
                e.codes[first + i] = code;
            }
        }
        return largest >= kInfinity ? 1u : 0u;
    }
};

// --- codes to floats ---------------------------------------------------------

/// kAdds: adds to `out`. Returns the number of values that are not finite; without kCounts all must
/// be finite.
template <bool kAdds, bool kCounts>
DEDLOC_LOOP std::uint32_t widen_codes(const std::int8_t* codes, float scale, float* out,
                                      std::size_t count) {
    std::uint32_t bad = 0;
    DEDLOC_INDEPENDENT
    for (std::size_t i = 0; i < count; ++i) {
        const float value = int8_value(codes[i], scale);
        out[i] = kAdds ? out[i] + value : value;
        if constexpr (kCounts) bad += is_finite(value) ? 0u : 1u;
    }
    return bad;
}

template <bool kAdds>
struct Widen {
    DEDLOC_LOOP std::uint32_t run(const std::int8_t* codes, const std::uint8_t* exponents,
                                  float* out, std::size_t count) {
        std::uint32_t bad = 0;
        std::size_t i = 0;
        for (; i + kInt8BlockElements <= count; i += kInt8BlockElements) {
            const std::uint8_t exponent = *exponents++;
            const float scale = power_of_two(exponent);
            if (exponent < kDoubtfulExponent) {
                widen_codes<kAdds, false>(codes + i, scale, out + i, kInt8BlockElements);
            } else {
                bad += widen_codes<kAdds, true>(codes + i, scale, out + i, kInt8BlockElements);
            }
        }
        if (i == count) return bad;
        const float scale = power_of_two(*exponents);
        return bad + widen_codes<kAdds, true>(codes + i, scale, out + i, count - i);
    }
};

}  // namespace

std::uint32_t largest_magnitude(InstructionSet set, const float* values, const float* owed,
                                std::size_t count) {
    return owed == nullptr ? run_for<LargestMagnitude<false>>(set, values, owed, count)
                           : run_for<LargestMagnitude<true>>(set, values, owed, count);
}

std::uint32_t shorten_to_int8(InstructionSet set, const Unquantized& x, std::int8_t* codes,
                              std::uint8_t* exponents, std::size_t count) {
    const Encoding e{.values = x.values,
                     .owed = x.owed,
                     .max_exponent = x.max_exponent,
                     .codes = codes,
                     .exponents = exponents,
                     .error = nullptr};
    return x.owed == nullptr ? run_for<Encode<false, false>>(set, e, count)
                             : run_for<Encode<true, false>>(set, e, count);
}

std::uint32_t keep_int8_errors(InstructionSet set, const float* values, std::uint32_t max_exponent,
                               float* error, std::size_t count) {
    const Encoding e{.values = values,
                     .owed = error,
                     .max_exponent = max_exponent,
                     .codes = nullptr,
                     .exponents = nullptr,
                     .error = error};
    return run_for<Encode<true, true>>(set, e, count);
}

std::uint32_t widen_int8(InstructionSet set, const std::int8_t* codes,
                         const std::uint8_t* exponents, float* out, std::size_t count) {
    return run_for<Widen<false>>(set, codes, exponents, out, count);
}

void add_int8(InstructionSet set, const std::int8_t* codes, const std::uint8_t* exponents,
              float* sum, std::size_t count) {
    run_for<Widen<true>>(set, codes, exponents, sum, count);
}

}  // namespace dedloc::kernels
