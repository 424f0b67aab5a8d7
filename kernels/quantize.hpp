// Shorter encodings of a vector for the wire: fp16, bf16, and int8 in blocks of 64 with a power of
// two as scale. All receivers decode the same bits; a sender can add its rounding errors to its
// next vector.
//
// Finite values stay finite: values beyond the range of an encoding become its largest one. The
// int8 scale of a block is a power of two s = 2^(e−127), sent as one byte e: the smallest from
// 2⁻¹²⁶ to 2¹²¹ with s × 127 ≥ the block's largest magnitude. The error of a value is at most
// s ÷ 2, but s within 1 % of the largest float. Decoding is exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/arithmetic.hpp"
#include "kernels/int8_lanes.hpp"
#include "kernels/workers.hpp"

namespace dedloc::kernels {

/// Number of int8 blocks of a vector.
constexpr std::size_t int8_block_count(std::size_t elements) {
    return elements / kInt8BlockElements + (elements % kInt8BlockElements != 0 ? 1 : 0);
}

/// A vector of N elements in int8: N codes, and an exponent for every 64 of them.
struct Int8Blocks {
    std::span<std::int8_t> codes;       ///< N
    std::span<std::uint8_t> exponents;  ///< ⌈N ÷ 64⌉
};
/// The same, read-only.
struct ConstInt8Blocks {
    std::span<const std::int8_t> codes;       ///< N
    std::span<const std::uint8_t> exponents;  ///< ⌈N ÷ 64⌉
};

/// out[i] = the encoding's value nearest to values[i], ties to even.
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

/// The same with error feedback: the rounding error is added to the next vector.
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
