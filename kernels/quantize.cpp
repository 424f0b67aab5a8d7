#include "kernels/quantize.hpp"

#include <array>
#include <atomic>

#include "kernels/check.hpp"
#include "kernels/half_lanes.hpp"
#include "kernels/reduction.hpp"
#include "kernels/requirements.hpp"

namespace dedloc::kernels {
namespace {

/// kFeedback: adds `error` first and overwrites it with the rounding errors; else `error` is null.
template <bool kFeedback>
struct Shorten {
    /// Returns the number of values that are not finite.
    DEDLOC_LOOP std::uint32_t run(const float* values, float* error, Bfloat16* out,
                                  std::size_t count) {
        std::uint32_t bad = 0;
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) {
            const float x = kFeedback ? values[i] + error[i] : values[i];
            const Bfloat16 rounded = to_bfloat16(x);
            out[i].bits = rounded.bits;
            if constexpr (kFeedback) error[i] = x - to_float(rounded);
            bad += is_finite(x) ? 0u : 1u;
        }
        return bad;
    }
};

/// Encodes up to 64 values and returns the bits of the largest magnitude.
template <bool kFeedback>
DEDLOC_LOOP std::uint32_t encode_block(const float* values, float* error, std::int8_t* codes,
                                       std::uint8_t* exponent, std::size_t count) {
    alignas(64) std::array<float, kInt8BlockElements> x;
    std::uint32_t largest = 0;
    DEDLOC_INDEPENDENT
    for (std::size_t i = 0; i < count; ++i) {
        x[i] = kFeedback ? values[i] + error[i] : values[i];
        const std::uint32_t magnitude = magnitude_bits(x[i]);
        largest = magnitude > largest ? magnitude : largest;
    }
    const std::uint32_t power = int8_exponent(largest);
    *exponent = static_cast<std::uint8_t>(power);
    const float scale = power_of_two(power);
    const float inverse = power_of_two(254 - power);
    DEDLOC_INDEPENDENT
    for (std::size_t i = 0; i < count; ++i) {
        const std::int8_t code = int8_code(x[i], inverse);
        codes[i] = code;
        if constexpr (kFeedback) error[i] = x[i] - int8_value(code, scale);
    }
    return largest;
}

template <bool kFeedback>
struct EncodeInt8 {
    /// Returns the number of blocks with values that are not finite. `values` begin at a block.
    DEDLOC_LOOP std::uint32_t run(const float* values, float* error, std::int8_t* codes,
                                  std::uint8_t* exponents, std::size_t count) {
        constexpr std::uint32_t kInfinity = 0x7f800000;
        std::uint32_t bad = 0;
        std::size_t i = 0;
        for (; i + kInt8BlockElements <= count; i += kInt8BlockElements) {
            const std::uint32_t largest =
                encode_block<kFeedback>(values + i, kFeedback ? error + i : nullptr, codes + i,
                                        exponents++, kInt8BlockElements);
            bad += largest >= kInfinity ? 1u : 0u;
        }
        if (i == count) return bad;
        const std::uint32_t largest = encode_block<kFeedback>(
            values + i, kFeedback ? error + i : nullptr, codes + i, exponents, count - i);
        return bad + (largest >= kInfinity ? 1u : 0u);
    }
};

}  // namespace

template <class Short>
void require_quantize(std::span<const float> values, std::span<const float> error,
                      std::span<const Short> out) {
    DEDLOC_KERNEL_REQUIRE(values.size() == out.size(),
                          "the encoded vector has another length than the values",
                          static_cast<double>(out.size()), static_cast<double>(values.size()));
    DEDLOC_KERNEL_REQUIRE(!overlap(values, out) && !overlap(error, out) && !overlap(values, error),
                          "values, errors and the encoded vector overlap");
}

template void require_quantize(std::span<const float>, std::span<const float>,
                               std::span<const Half>);
template void require_quantize(std::span<const float>, std::span<const float>,
                               std::span<const Bfloat16>);

void require_quantize(std::span<const float> values, std::span<const float> error,
                      ConstInt8Blocks out) {
    require_quantize(values, error, out.codes);
    DEDLOC_KERNEL_REQUIRE(
        out.exponents.size() == int8_block_count(values.size()), "every 64 codes need an exponent",
        static_cast<double>(out.exponents.size()), static_cast<double>(values.size()));
    DEDLOC_KERNEL_REQUIRE(!overlap(values, out.exponents) && !overlap(error, out.exponents) &&
                              !overlap(out.codes, out.exponents),
                          "values, errors and the encoded vector overlap");
}

void require_feedback(std::span<const float> values, std::span<const float> error) {
    DEDLOC_KERNEL_REQUIRE(values.size() == error.size(), "every value needs its error",
                          static_cast<double>(values.size()), static_cast<double>(error.size()));
}

namespace {

template <bool kFeedback>
std::uint32_t shorten(InstructionSet set, const float* values, float* error, Bfloat16* out,
                      std::size_t count) {
    return run_for<Shorten<kFeedback>>(set, values, error, out, count);
}

template <bool kFeedback>
std::uint32_t shorten(InstructionSet set, const float* values, float* error, Half* out,
                      std::size_t count) {
    if constexpr (kFeedback) return shorten_to_halves(set, values, error, out, count);
    return shorten_to_halves(set, {.values = values}, out, count);
}

template <class Short, bool kFeedback>
bool shorten_all(std::span<const float> values, std::span<float> error, std::span<Short> out,
                 const Workers& workers) {
    require_quantize<Short>(values, error, out);
    std::atomic<bool> is_every_one_finite{true};
    for_each_segment(values.size(), workers, [&](std::size_t first, std::size_t count) {
        float* const errors = kFeedback ? error.data() + first : nullptr;
        const std::uint32_t bad = shorten<kFeedback>(
            workers.instruction_set(), values.data() + first, errors, out.data() + first, count);
        if (bad != 0) is_every_one_finite = false;
    });
    return is_every_one_finite;
}

template <bool kFeedback>
bool encode_all(std::span<const float> values, std::span<float> error, Int8Blocks out,
                const Workers& workers) {
    require_quantize(values, error, ConstInt8Blocks{out.codes, out.exponents});
    std::atomic<bool> is_every_one_finite{true};
    for_each_segment(values.size(), workers, [&](std::size_t first, std::size_t count) {
        float* const errors = kFeedback ? error.data() + first : nullptr;
        const std::uint32_t bad = run_for<EncodeInt8<kFeedback>>(
            workers.instruction_set(), values.data() + first, errors, out.codes.data() + first,
            out.exponents.data() + first / kInt8BlockElements, count);
        if (bad != 0) is_every_one_finite = false;
    });
    return is_every_one_finite;
}

}  // namespace

bool quantize(std::span<const float> values, std::span<Half> out, const Workers& workers) {
    return shorten_all<Half, false>(values, {}, out, workers);
}

bool quantize(std::span<const float> values, std::span<Bfloat16> out, const Workers& workers) {
    return shorten_all<Bfloat16, false>(values, {}, out, workers);
}

bool quantize(std::span<const float> values, Int8Blocks out, const Workers& workers) {
    return encode_all<false>(values, {}, out, workers);
}

bool quantize_with_feedback(std::span<const float> values, std::span<float> error,
                            std::span<Half> out, const Workers& workers) {
    require_feedback(values, error);
    return shorten_all<Half, true>(values, error, out, workers);
}

bool quantize_with_feedback(std::span<const float> values, std::span<float> error,
                            std::span<Bfloat16> out, const Workers& workers) {
    require_feedback(values, error);
    return shorten_all<Bfloat16, true>(values, error, out, workers);
}

bool quantize_with_feedback(std::span<const float> values, std::span<float> error, Int8Blocks out,
                            const Workers& workers) {
    require_feedback(values, error);
    return encode_all<true>(values, error, out, workers);
}

}  // namespace dedloc::kernels
