// Shorter forms of a vector for the wire: fp16, bf16, and int8 in blocks of 64 with a power of two
// as scale. Receivers decode the same bits everywhere; what a sender's own rounding cost can be fed
// back into its next vector.
//
// What is finite stays finite: values beyond the range of a form become its largest. The int8 scale
// of a block is a power of two s = 2^(e−127), kept as one byte e: the smallest from 2⁻¹²⁶ to 2¹²¹
// with s × 127 ≥ the block's largest magnitude. A value errs by at most s ÷ 2, but within 1 % of
// the largest float by s; decoding is exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/arithmetic.hpp"
#include "kernels/workers.hpp"

namespace dedloc::kernels {

inline constexpr std::size_t kInt8BlockElements = 64;

constexpr std::size_t int8_block_count(std::size_t elements) {
    return elements / kInt8BlockElements + (elements % kInt8BlockElements != 0 ? 1 : 0);
}

/// A vector of N elements in int8: N codes, and an exponent for every 64 of them.
struct Int8Blocks {
    std::span<std::int8_t> codes;
    std::span<std::uint8_t> exponents;
};
struct ConstInt8Blocks {
    std::span<const std::int8_t> codes;
    std::span<const std::uint8_t> exponents;
};

/// out[i] = the form's value nearest to values[i], ties to even.
///
/// Returns   whether every value is finite; if not, nothing in `out` may be used
/// Shapes    values N, out N (int8: N codes and ⌈N ÷ 64⌉ exponents); N = 0 does nothing
/// Requires  equal extents, no overlap      (aborts)      Thread  any
/// Cost      6 bytes an element; int8 5.02
[[nodiscard]] bool quantize(std::span<const float> values, std::span<Half> out,
                            const Workers& workers = ThisThread{});
[[nodiscard]] bool quantize(std::span<const float> values, std::span<Bfloat16> out,
                            const Workers& workers = ThisThread{});
[[nodiscard]] bool quantize(std::span<const float> values, Int8Blocks out,
                            const Workers& workers = ThisThread{});

/// The same with error feedback: what rounding took away is added to the next vector.
///
///     x = values[i] + error[i];   out[i] = quantized x;   error[i] = x − dequantized out[i]
///
/// Returns   whether every x is finite; if not, neither `out` nor `error` may be used
/// Shapes    as above, error N
/// Cost      14 bytes an element; int8 13.02
[[nodiscard]] bool quantize_with_feedback(std::span<const float> values, std::span<float> error,
                                          std::span<Half> out,
                                          const Workers& workers = ThisThread{});
[[nodiscard]] bool quantize_with_feedback(std::span<const float> values, std::span<float> error,
                                          std::span<Bfloat16> out,
                                          const Workers& workers = ThisThread{});
[[nodiscard]] bool quantize_with_feedback(std::span<const float> values, std::span<float> error,
                                          Int8Blocks out, const Workers& workers = ThisThread{});

}  // namespace dedloc::kernels
