// int8 blocks in the lanes of a vector: 64 elements share a power of two as scale. Arrays begin at
// a block; the last block may be short. Every bit is the same with any instruction set.
//
// The scale of a block is s = 2^(e−127), sent as one byte e: the smallest from 2⁻¹²⁶ to 2¹²¹ with
// s × 127 ≥ the block's largest magnitude. The error of a value is at most s ÷ 2, but s within 1 %
// of the largest float. Decoding is exact.
//
// Each function is one pass over its data. The caller holds an ExactArithmetic, and its spans are
// long enough and do not overlap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/arithmetic.hpp"
#include "kernels/instruction_set.hpp"

namespace dedloc::kernels {

/// Elements that share an int8 scale.
inline constexpr std::size_t kInt8BlockElements = 64;
/// Number of int8 blocks of a vector.
constexpr std::size_t int8_block_count(std::size_t elements) {
    return elements / kInt8BlockElements + (elements % kInt8BlockElements != 0 ? 1 : 0);
}
/// The largest exponent of a scale: 127 times a larger one is beyond fp32.
inline constexpr std::uint32_t kInt8MaxExponent = 248;
/// The least bound of exponents: with it no float has 2²² scales, up to which int8_code() rounds.
inline constexpr std::uint32_t kInt8MinBound = 127 + 128 - 22;

/// The largest magnitude_bits() of all x[i] = values[i] + owed[i], or of values[i] if `owed` is
/// null. Above those of the largest float if an x is not finite. 0 if count is 0.
std::uint32_t largest_magnitude(InstructionSet set, const float* values, const float* owed,
                                std::size_t count);

/// What is encoded, in blocks: x[i] = values[i] + owed[i].
struct Unquantized {
    const float* values = nullptr;  ///< N elements
    const float* owed = nullptr;    ///< N rounding errors of earlier vectors; null: none
    /// Upper bound of the scales' exponents, at least kInt8MinBound; a block whose largest
    /// magnitude would need a larger one is clipped to ±127 scales.
    std::uint32_t max_exponent = kInt8MaxExponent;
};

/// codes[i] and one exponent for each block. Returns the number of blocks in which an x is not
/// finite.
std::uint32_t shorten_to_int8(InstructionSet set, const Unquantized& x, std::int8_t* codes,
                              std::uint8_t* exponents, std::size_t count);
/// Computes the rounding errors: error[i] = x[i] − the value of its code, where x[i] = values[i] +
/// error[i] and max_exponent is that of Unquantized. Returns the number of blocks in which an x is
/// not finite.
std::uint32_t keep_int8_errors(InstructionSet set, const float* values, std::uint32_t max_exponent,
                               float* error, std::size_t count);

/// out[i] = codes[i] × the scale of its block. Returns how many are not finite. Exponents are 1 to
/// 255, any codes.
std::uint32_t widen_int8(InstructionSet set, const std::int8_t* codes,
                         const std::uint8_t* exponents, float* out, std::size_t count);
/// sum[i] += codes[i] × the scale of its block.
void add_int8(InstructionSet set, const std::int8_t* codes, const std::uint8_t* exponents,
              float* sum, std::size_t count);

}  // namespace dedloc::kernels
